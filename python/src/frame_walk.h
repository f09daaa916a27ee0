#pragma once

#include <Python.h>

// The frames of the calling thread, innermost first. Between two instructions of its own nobody but
// the thread itself changes its frames, and while it is inside an op it changes none either: where
// the interpreter's structures are known they are read in place, without the GIL and without making
// frame objects. Elsewhere the public API is used, which needs the GIL.
#if !defined(ULPSCOPE_PUBLIC_FRAMES) && PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define ULPSCOPE_FRAMES_NEED_GIL 0
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#define ULPSCOPE_FRAMES_NEED_GIL 1
#endif

namespace ulpscope::python {

/// A place in the program: a code object and a byte offset into its instructions.
struct CodePlace {
  PyCodeObject* code = nullptr;  // borrowed
  int offset = 0;
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};

/// Calls visit(CodePlace) for each frame, innermost first, until it returns false.
template <class Visit>
void walkFrames(PyThreadState* thread, Visit&& visit) {
#if ULPSCOPE_FRAMES_NEED_GIL
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool more = visit(CodePlace{code, PyFrame_GetLasti(frame)});
    Py_DECREF(code);  // the frame holds it
    PyFrameObject* back = more ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = back;
  }
#else
  for (_PyInterpreterFrame* frame = thread->cframe->current_frame; frame != nullptr;
       frame = frame->previous) {
    if (_PyFrame_IsIncomplete(frame)) continue;
    const int offset = _PyInterpreterFrame_LASTI(frame) * int(sizeof(_Py_CODEUNIT));
    if (!visit(CodePlace{frame->f_code, offset})) return;
  }
#endif
}

}  // namespace ulpscope::python
