"""Brings this process into the settings of a recorded run, as far as they change numbers."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from typing import Any

#: Variables that must be there before torch is loaded.
VARIABLES = ("ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_CBWR",
             "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE")  # fmt: skip


def before_torch(environment: Mapping[str, str]) -> None:
    for name in VARIABLES:
        value = environment.get(f"env.{name}")
        if value is not None:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def apply(environment: Mapping[str, str]) -> list[str]:
    """Applies what the trace says. Gives what could not be had here, a sentence each."""
    import torch
    import torch._inductor.config as config

    notes = []
    threads = environment.get("threads.intra_op", "")
    if threads.isdigit():
        torch.set_num_threads(int(threads))
    if "mkldnn.enabled" in environment:
        torch._C._set_mkldnn_enabled(environment["mkldnn.enabled"] == "True")
    if environment.get("deterministic_algorithms") == "True":
        torch.use_deterministic_algorithms(True, warn_only=True)
    if environment.get("flush_denormal") == "True":
        torch.set_flush_denormal(True)
    precision = environment.get("float32_matmul_precision")
    if precision in ("highest", "high", "medium"):
        torch.set_float32_matmul_precision(precision)
    for key, text in environment.items():
        if key.startswith("inductor."):
            _set(config, key.removeprefix("inductor."), text)
    capability = environment.get("cpu.capability")
    if capability and capability != torch.backends.cpu.get_cpu_capability():
        notes.append(
            f"recorded with {capability} kernels, this machine runs "
            f"{torch.backends.cpu.get_cpu_capability()}"
        )
    version = environment.get("torch.version")
    if version and not torch.__version__.startswith(version):
        notes.append(f"recorded with torch {version}, opened with {torch.__version__}")
    return notes


def _set(config, name: str, text: str) -> None:
    owner = config
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part, None)
    if owner is None or not hasattr(owner, last):
        return
    value = _value(text)
    if getattr(owner, last) != value:
        setattr(owner, last, value)


def changed(environment: Mapping[str, str]) -> dict[str, Any]:
    """Inductor's settings of the run that are not the defaults of this torch."""
    import torch._inductor.config as config

    found = {}
    for key, text in environment.items():
        name = key.removeprefix("inductor.")
        if name == key or name not in config._config:
            continue
        value = _value(text)
        if value != config._config[name].default:
            found[name] = value
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
