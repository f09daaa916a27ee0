"""Kernels and extern kernels that generated C++ calls (torch._inductor.config.cpp_wrapper)."""

import pathlib
import re

from helpers import generated_code, inside_compiled, kernels, last_json, ok

PROGRAM = pathlib.Path(__file__).parent / "programs" / "cpp_wrapper.py"
STEPS = 2


def calls(cache):
    """Calls of kernels and of aoti_torch_cpu_* that stand in the generated wrappers."""
    bodies = []
    for path in cache.rglob("*.main.cpp"):
        text = path.read_text()
        body = text[text.index("void inductor_entry_impl(") :]
        bodies.append(body[: body.index("} // inductor_entry_impl")])
    code = "\n".join(bodies)
    return len(re.findall(r"^\s*cpp_\w+\(", code, re.M)), len(re.findall(r"\baoti_torch_cpu_\w+\(", code))


def test_cold_and_warm(run, tmp_path):
    plain, recorded = tmp_path / "plain", tmp_path / "recorded"
    expected = last_json(ok(run(PROGRAM, record=False, TORCHINDUCTOR_CACHE_DIR=str(plain))))
    written = calls(plain)
    assert min(written) > 0
    traces = []
    for _ in range(2):
        result = ok(run(PROGRAM, TORCHINDUCTOR_CACHE_DIR=str(recorded), ULPSCOPE_DEBUG="1"))
        assert last_json(result) == expected  # bit-identical
        trace = result.trace
        assert trace.meta("kernels") == ""
        externs = [op for op in inside_compiled(trace) if op.provenance is not None]
        assert (len(kernels(trace)), len(externs)) == tuple(STEPS * count for count in written)
        assert trace.coverage.closure == 1.0
        traces.append(trace)
    assert generated_code(plain) == generated_code(recorded)
    cold, warm = ([(op.qualified, op.provenance) for op in trace if op.provenance] for trace in traces)
    assert cold == warm
    names = {op.name for op in traces[0]}
    assert {"aten::addmm", "aten::mm"} <= names
    for op in kernels(traces[0]):
        assert op.provenance["sources"] and op.provenance["ties"], op.qualified
        assert all(operand.digest is not None for operand in op.role("input"))
    modules = {s["module"] for op in kernels(traces[0]) for s in op.provenance["sources"]}
    assert "norm" in modules
