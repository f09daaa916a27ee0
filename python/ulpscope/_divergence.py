"""What happens in a Python program where a recording that follows a reference parts from it."""

from __future__ import annotations

import bdb
import dataclasses
import os
import pdb
import sys
import tempfile
from types import FrameType, ModuleType
from typing import Any


@dataclasses.dataclass(frozen=True)
class Divergence:
    """The name `divergence` in the debugger."""

    op: int  #: in the trace that is being recorded
    reference: int  #: its partner in the reference
    operands: dict[str, Any]  #: "input0", "after1", "input0.3" -> torch.Tensor, "before" a copy

    def __getitem__(self, address: str) -> Any:
        return self.operands[address]

    def __repr__(self) -> str:
        shapes = {
            name: f"{tensor.dtype}{list(tensor.shape)}" for name, tensor in self.operands.items()
        }
        return f"<op {self.op}, reference's op {self.reference}: {shapes}>"


def install(c: ModuleType) -> None:
    c.on_divergence(_diverged)


def _diverged(op: int, reference: int, stops: bool, operands: list[tuple]) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    if stops:
        return
    tensors = {
        f"{role}{arg}" + ("" if item is None else f".{item}"): tensor
        for role, arg, item, tensor in operands
    }
    frame = _program_frame(sys._getframe(1))
    if frame is not None:
        _Debugger(Divergence(op, reference, tensors)).enter(frame)


def _program_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is neither torch's (or its compiler's) nor ours."""
    import torch

    hidden = [
        os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
        os.path.dirname(os.path.abspath(__file__)) + os.sep,
        os.environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(tempfile.gettempdir(), "torchinductor_"),
        "<",
    ]
    last = frame
    while frame is not None:
        if not frame.f_code.co_filename.startswith(tuple(hidden)):
            return frame
        last = frame
        frame = frame.f_back
    return last


class _Debugger(pdb.Pdb):
    """pdb at a frame that is in the middle of a call, not between two lines."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(nosigint=True)
        self._divergence = divergence

    def setup(self, frame: FrameType | None, traceback: Any) -> None:
        super().setup(frame, traceback)
        self.curframe_locals["divergence"] = self._divergence

    def enter(self, frame: FrameType) -> None:
        self.reset()
        outer: FrameType | None = frame
        while outer is not None:  # as set_trace does, so that stepping works from here on
            outer.f_trace = self.trace_dispatch
            self.botframe = outer
            outer = outer.f_back
        at_module = frame.f_locals is frame.f_globals
        had = frame.f_globals.get("divergence", self)
        print("the tensors of the op: divergence['input0'], ...; `divergence` lists them")
        try:
            self.interaction(frame, None)
        finally:
            if at_module and frame.f_globals.get("divergence") is self._divergence:
                if had is self:
                    del frame.f_globals["divergence"]
                else:
                    frame.f_globals["divergence"] = had
        goes_on = self.stopframe is self.botframe and self.stoplineno == -1
        trace: Any = self.trace_dispatch
        if self.quitting:
            trace = _quit  # an exception can't cross the op; the next line raises it
        elif goes_on and not self.breaks:
            trace = None
        outer = frame
        while outer is not None:
            outer.f_trace = trace
            outer = outer.f_back
        sys.settrace(trace)


def _quit(frame: FrameType, event: str, argument: Any) -> Any:
    raise bdb.BdbQuit
