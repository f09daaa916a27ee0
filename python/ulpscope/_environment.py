"""What is true of the Python side of a run: settings that change numbers, versions, seeds.

The recorder itself notes torch's settings when the first op runs (dispatch_hook/environment.cpp).
Programs often set them after that, so the end of the recording says them again, under the same keys.
Nothing is read here that would initialise something the program may still want to set.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Settings of torch._inductor.config that change the numbers of the generated code.
INDUCTOR = (
    "allow_buffer_reuse",
    "cpp.dynamic_threads",
    "cpp.enable_concat_linear",
    "cpp.enable_floating_point_contract_flag",
    "cpp.enable_tiling_heuristics",
    "cpp.enable_unsafe_math_opt_flag",
    "cpp.max_horizontal_fusion_size",
    "cpp.no_redundant_loops",
    "cpp.simdlen",
    "cpp.threads",
    "cpp.vec_isa_ok",
    "cpp.weight_prepack",
    "cpp_wrapper",
    "deterministic",
    "emulate_division_rounding",
    "emulate_precision_casts",
    "epilogue_fusion",
    "fallback_by_default",
    "fallback_random",
    "freezing",
    "joint_graph_constant_folding",
    "layout_optimization",
    "max_autotune",
    "max_autotune_gemm",
    "pattern_matcher",
    "shape_padding",
    "split_reductions",
)


def at_start(c: ModuleType) -> None:
    import torch

    c.environment("python.version", platform.python_version())
    c.environment("torch.git_version", torch.version.git_version or "")
    c.environment("torch.compile", "off")
    c.meta("python.executable", sys.executable or "")
    c.meta("argv", json.dumps(sys.argv if hasattr(sys, "argv") else []))


def at_compile(c: ModuleType) -> None:
    """Before a compilation, the first of this recording or with a backend that is new."""
    from ulpscope import _compiling

    c.environment("torch.compile", ", ".join(_compiling.backends) or "on")
    _say(c, _inductor())


def at_end(c: ModuleType) -> None:
    _say(c, _torch())
    _say(c, _inductor())
    for name in ("transformers", "numpy"):
        module = sys.modules.get(name)
        if module is not None:
            c.environment(f"{name}.version", str(getattr(module, "__version__", "unknown")))


def _say(c: ModuleType, facts: dict[str, Callable[[], Any]]) -> None:
    for key, read in facts.items():
        try:
            c.environment(key, str(read()))
        except Exception:
            continue  # not a setting of this torch


def _torch() -> dict[str, Callable[[], Any]]:
    import torch

    return {
        "threads.intra_op": torch.get_num_threads,
        "mkldnn.enabled": torch._C._get_mkldnn_enabled,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
        "deterministic_fill_uninitialized_memory": (
            lambda: torch.utils.deterministic.fill_uninitialized_memory
        ),
        "float32_matmul_precision": torch.get_float32_matmul_precision,
        "default_dtype": lambda: str(torch.get_default_dtype()).removeprefix("torch."),
        "autocast.cpu": lambda: (
            str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else "off"
        ),
        "mkldnn.matmul.fp32_precision": lambda: torch.backends.mkldnn.matmul.fp32_precision,
        "mkldnn.conv.fp32_precision": lambda: torch.backends.mkldnn.conv.fp32_precision,
        "sdp.flash": torch.backends.cuda.flash_sdp_enabled,
        "sdp.mem_efficient": torch.backends.cuda.mem_efficient_sdp_enabled,
        "sdp.math": torch.backends.cuda.math_sdp_enabled,
        "quantized.engine": lambda: torch.backends.quantized.engine,
        "random.initial_seed": torch.initial_seed,
    }


def _inductor() -> dict[str, Callable[[], Any]]:
    config: Any = sys.modules.get("torch._inductor.config")
    if config is None:
        return {}

    def reader(name: str) -> Callable[[], Any]:
        def read() -> Any:
            value = config
            for part in name.split("."):
                value = getattr(value, part)
            return value

        return read

    return {f"inductor.{name}": reader(name) for name in INDUCTOR}
