#pragma once

/// What libulpscope_hook.so shows to programs and to the Python extension; all else is hidden.
#define ULPSCOPE_API __attribute__((visibility("default")))
