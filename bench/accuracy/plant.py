"""Changes the result of chosen ops while a recorded program runs (see plant.cpp)."""

import ctypes
import glob
import os

import numpy as np

_CHANGE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.c_int64)
_library = None


def load():
    """The library, from ULPSCOPE_PLANT or the newest build. `ulpscope` must be imported before, for
    both must use one recorder."""
    global _library
    if _library is None:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        built = sorted(glob.glob(f"{root}/build/*/bench/accuracy/libulpscope_plant.so"), key=os.path.getmtime)
        path = os.environ.get("ULPSCOPE_PLANT") or (built and built[-1])
        if not path:
            raise SystemExit("bench/accuracy: build it first: cmake --preset release -DULPSCOPE_BUILD_BENCH=ON "
                             "&& ninja -C build/release ulpscope_plant")
        _library = ctypes.CDLL(path)
        _library.ulpscope_plant.argtypes = [ctypes.c_int64, _CHANGE]
        _library.ulpscope_last_op.restype = ctypes.c_int64
    return _library


class planted:
    """with planted([(op id, change)]): change(flat float32 array) is called for each dense float32
    tensor that the op wrote, and may change it in place."""

    def __init__(self, plants):
        self._callbacks = []
        for op, change in plants:
            def call(data, count, change=change):
                change(np.ctypeslib.as_array(data, (count,)))
            self._callbacks.append((op, _CHANGE(call)))

    def __enter__(self):
        for op, callback in self._callbacks:
            load().ulpscope_plant(op, callback)

    def __exit__(self, *_):
        load().ulpscope_plant_none()


def last_op() -> int:
    """Id of the last recorded op that has started."""
    return load().ulpscope_last_op()
