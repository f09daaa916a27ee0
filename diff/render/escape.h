#pragma once

#include <string>
#include <string_view>

/// Text from traces, made safe for the languages that reports are written in. Names of ops, modules,
/// files and settings come from programs and may hold anything.
namespace ulpscope {

/// The text with every byte that is not UTF-8 replaced by U+FFFD.
std::string validUtf8(std::string_view text);

/// For HTML and XML, as content or in a quoted attribute. Characters that XML 1.0 forbids become
/// U+FFFD; tab and newline stay.
std::string xmlEscaped(std::string_view text);

/// As code in Markdown (GitHub's), for a paragraph or a table's cell: one line, nothing in it acts.
std::string markdownCode(std::string_view text);
/// As plain words in Markdown, for a paragraph or a table's cell.
std::string markdownEscaped(std::string_view text);

/// The message of a GitHub workflow command ("::error ...::message").
std::string workflowMessage(std::string_view text);
/// The value of one property of a GitHub workflow command.
std::string workflowProperty(std::string_view text);

}  // namespace ulpscope
