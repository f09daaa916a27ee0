"""The patches of Inductor's classes that let every kernel call be seen.

Class-level, installed once when torch._inductor.output_code is first imported, which is before the
first compile and before the first load from a cache. Each calls the original whatever happens here.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref

from . import call_sites, nodes, provenance, record, report, signature, triton_kernels

_lock = threading.Lock()
_installed: dict[str, str] = {}  # patch -> "" or why it could not be installed
# id(result of cpp_pybinding) -> (result, parameters, source)
_made: dict[int, tuple[object, list[signature.Parameter], str]] = {}
_local = threading.local()
SEEN = "_ulpscope_seen"  # in a generated module: its kernels are tapped
backend = None  # who makes the callables; see recorder.py


# --- AsyncCompile: kernels ---------------------------------------------------------------------


def _cpp_pybinding(original):
    @functools.wraps(original)
    def cpp_pybinding(self, argtypes, source_code):
        result = original(self, argtypes, source_code)
        try:
            parameters = signature.parse(source_code, argtypes)
            with _lock:
                # Keeps the result alive until `wait`, so that its id stays its own.
                _made[id(result)] = (result, parameters, source_code)
        except Exception as error:
            report("cannot read a kernel's signature", error)
        return result

    return cpp_pybinding


def _wait(original):
    @functools.wraps(original)
    def wait(self, scope):
        pending = {}
        try:
            with _lock:
                pending = {
                    name: _made[id(value)] for name, value in scope.items() if id(value) in _made
                }
        except Exception as error:
            report("cannot find the kernels of a generated module", error)
        original(self, scope)
        scope[SEEN] = True
        for name, (result, parameters, source) in pending.items():
            try:
                scope[name] = backend.kernel(scope[name], name, parameters, source)
            except Exception as error:
                report(f"cannot tap kernel {name}", error)
            with _lock:
                _made.pop(id(result), None)

    return wait


# --- code generation: what each call stands for --------------------------------------------------


def _define_kernel(original):
    @functools.wraps(original)
    def define_kernel(self, src_code, nodes, kernel_args=None):
        name = original(self, src_code, nodes, kernel_args)
        try:
            args = self.kernel_group.args if kernel_args is None else kernel_args
            _local.defined = (name, *provenance.collect(args))
        except Exception as error:
            _local.defined = None
            report("cannot read a kernel's buffers", error)
        return name

    return define_kernel


def _codegen_comment(original):
    @functools.wraps(original)
    def codegen_comment(self, node_schedule, kernel_name=None):
        original(self, node_schedule, kernel_name)
        try:
            defined, _local.defined = getattr(_local, "defined", None), None
            if defined is not None and defined[0] == kernel_name:
                _note(kernel_name, list(node_schedule), None, defined[1], defined[2])
        except Exception as error:
            report("cannot note a kernel call", error)

    return codegen_comment


def _extern_comment(original):
    @functools.wraps(original)
    def codegen_comment(self, wrapper, kernel_name=None):
        original(self, wrapper, kernel_name)
        try:
            name = kernel_name or self.try_get_kernel_name()
            if name:
                _note(name, [], self, {}, set())
        except Exception as error:
            report("cannot note an extern kernel call", error)

    return codegen_comment


def _gpu_comment(original):
    @functools.wraps(original)
    def codegen_comment(self, node_schedule, kernel_name=None):
        original(self, node_schedule, kernel_name)
        try:
            if kernel_name:
                _note(kernel_name, list(node_schedule), None, {}, set())
        except Exception as error:
            report("cannot note a kernel call", error)

    return codegen_comment


def _triton_run(original):
    return triton_kernels.watch_run(original, lambda *args: backend.kernel(*args))


def _aot_compile(original):
    """A package gets the record of its kernels as one more file beside the code."""
    compile = original.__func__

    @classmethod
    @functools.wraps(compile)
    def aot_compile(cls, graph, *args, **kwargs):
        files = compile(cls, graph, *args, **kwargs)
        try:
            calls = graph.__dict__.pop("_ulpscope_calls", [])
            record.write(provenance.build(calls, False), files)
        except Exception as error:
            report("no provenance for an AOTInductor package", error)
        return files

    return aot_compile


def _note(name, scheduled, extern, parameters, written):
    from torch._inductor import debug
    from torch._inductor.virtualized import V

    graph = root = V.graph
    while hasattr(root, "parent"):
        root = root.parent
    calls = root.__dict__.setdefault("_ulpscope_calls", [])
    handle = debug._inductor_kernel_provenance_debug_handle
    calls.append(
        provenance.KernelCall(name, handle, graph, scheduled, extern, parameters, written)
    )


# --- CompiledFxGraph: provenance, kept and found again -------------------------------------------


_fresh: dict[int, weakref.ref] = {}  # graphs that were compiled, not loaded, by id


def _forget(number, _):
    _fresh.pop(number, None)


def _graph_init(original):
    @functools.wraps(original)
    def __init__(self, current_callable, graph, *args, **kwargs):
        original(self, current_callable, graph, *args, **kwargs)
        try:
            calls = graph.__dict__.pop("_ulpscope_calls", [])
            made = provenance.build(calls, bool(getattr(graph, "is_backward", False)))
            setattr(self, record.ATTRIBUTE, made.pack())
            _fresh[id(self)] = weakref.ref(self, functools.partial(_forget, id(self)))
        except Exception as error:
            report("no provenance for a compiled graph", error)

    return __init__


def _post_compile(original):
    @functools.wraps(original)
    def post_compile(self, example_inputs, constants, graph_kwargs):
        scope = None
        try:
            call = self.current_callable
            call = getattr(call, "__func__", call)
            scope = getattr(call, "__globals__", None)
        except Exception as error:
            report("cannot find a compiled graph's module", error)
        result = original(self, example_inputs, constants, graph_kwargs)
        try:
            if scope is not None:
                _add_sites(self, scope)
                backend.subgraphs(self.source_code, scope)
            backend.graph(self, graph_kwargs, scope, cached=id(self) not in _fresh)
        except Exception as error:
            report("cannot tap a compiled graph", error)
        return result

    return post_compile


def _add_sites(compiled, scope):
    sites = record.of(compiled).sites
    lines = call_sites.handles(compiled.source_code)
    for code in call_sites.code_objects(scope):
        for inner, places in call_sites.offsets(code, lines).items():
            for key, offsets in places.items():
                site = sites.get(key)
                if site is not None:
                    backend.site(inner, offsets, compiled.cache_key, site, scope)


def _hash_details(original):
    """A graph in the cache without our record, or with one of another version, is no hit: what its
    kernels compute could not be told any more."""

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.ulpscope_provenance = record.VERSION

    return __init__


# --- installing ----------------------------------------------------------------------------------

# (module, class or "", attribute, wrapper, what is lost without it, its first parameters)
KERNELS = "calls of compiled kernels"
PROVENANCE = "original ops of compiled kernels"
TIES = "which op's value a kernel writes"
EXTERN = "original ops of extern kernels"
TRITON = "calls of Triton kernels (written, but tried on no GPU)"
AOTI = "original ops of AOTInductor packages that are compiled here"
EXACT = "which call of an op a kernel computes"
PATCHES = [
    ("torch._inductor.async_compile", "AsyncCompile", "cpp_pybinding", _cpp_pybinding, KERNELS,
     ["self", "argtypes", "source_code"]),
    ("torch._inductor.async_compile", "AsyncCompile", "wait", _wait, KERNELS, ["self", "scope"]),
    ("torch._inductor.output_code", "CompiledFxGraph", "__init__", _graph_init, PROVENANCE,
     ["self", "current_callable", "graph"]),
    ("torch._inductor.output_code", "CompiledFxGraph", "post_compile", _post_compile, PROVENANCE,
     ["self", "example_inputs", "constants", "graph_kwargs"]),
    ("torch._inductor.codecache", "FxGraphHashDetails", "__init__", _hash_details, PROVENANCE,
     ["self", "gm", "example_inputs", "fx_kwargs"]),
    ("torch._inductor.codegen.cpp", "CppScheduling", "define_kernel", _define_kernel, TIES,
     ["self", "src_code", "nodes", "kernel_args"]),
    ("torch._inductor.codegen.cpp", "CppScheduling", "codegen_comment", _codegen_comment, TIES,
     ["self", "node_schedule", "kernel_name"]),
    ("torch._inductor.ir", "ExternKernel", "codegen_comment", _extern_comment, EXTERN,
     ["self", "wrapper", "kernel_name"]),
    ("torch._subclasses.functional_tensor", "FunctionalTensorMode", "__torch_dispatch__",
     nodes.watch_functional, EXACT, ["self", "func", "types", "args", "kwargs"]),
    ("torch.fx.experimental.proxy_tensor", "ProxyTorchDispatchMode", "__torch_dispatch__",
     nodes.watch_proxy, EXACT, ["self", "func", "types", "args", "kwargs"]),
    ("torch._inductor.pattern_matcher", "", "_transfer_meta", nodes.watch_transfer, EXACT,
     ["new_meta", "old_node"]),
    ("torch._inductor.runtime.triton_heuristics", "CachingAutotuner", "run", _triton_run, TRITON,
     ["self", "args", "stream"]),
    ("torch._inductor.runtime.triton_heuristics", "CachingAutotuner", "__getstate__",
     triton_kernels.watch_getstate, TRITON, ["self"]),
    ("torch._inductor.codegen.triton", "TritonScheduling", "codegen_comment", _gpu_comment, TRITON,
     ["self", "node_schedule", "kernel_name"]),
    ("torch._inductor.codecache", "AotCodeCompiler", "compile", _aot_compile, AOTI,
     ["cls", "graph", "wrapper_code"]),
]  # fmt: skip


def _key(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def patch(module) -> None:
    """Applies all patches of one freshly imported module."""
    for name, cls, attribute, wrapper, gives, parameters in PATCHES:
        key = _key(name, cls, attribute)
        if name != module.__name__ or key in _installed:
            continue
        owner = getattr(module, cls, None) if cls else module
        reason = _installed[key] = _misfit(owner, attribute, parameters)
        if reason:
            report(f"cannot tap {key}", reason)
            if gives not in (TRITON, AOTI):
                backend.not_seen(f"{key}: {reason}")
        else:
            setattr(owner, attribute, wrapper(owner.__dict__[attribute]))
    if module.__name__ == "torch._decomp.decompositions":
        try:
            nodes.watch_python_kernels(module)
        except Exception as error:
            report("cannot tap ops with kernels in Python", error)
    if module.__name__ == "torch._inductor.config":
        try:
            if not module.trace.provenance_tracking_level:
                module.trace.provenance_tracking_level = 1
        except Exception as error:
            report("cannot turn on Inductor's provenance tracking", error)
        try:
            _override(module)
        except Exception as error:
            report("cannot change Inductor's settings", error)
    if module.__name__ == "torch.fx.proxy":
        try:
            if nodes.OP not in module._COPY_META_FIELDS:
                module._COPY_META_FIELDS.append(nodes.OP)
        except Exception as error:
            report("cannot carry op marks along", error)


def _override(config) -> None:
    """Settings that `ulpscope bisect` tries, over those of the program's environment."""
    import json
    import os

    for name, value in json.loads(os.environ.get("ULPSCOPE_INDUCTOR", "{}")).items():
        owner = config
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        setattr(owner, last, value)


def _misfit(owner, attribute: str, parameters: list[str]) -> str:
    """Why a method is not the one that its patch was written for, or ""."""
    method = getattr(owner, "__dict__", {}).get(attribute)
    if method is None:
        return "not in this torch"
    try:
        method = getattr(method, "__func__", method)
        found = list(inspect.signature(inspect.unwrap(method)).parameters)
    except (TypeError, ValueError):
        return "its parameters can't be read"
    if found[: len(parameters)] != parameters:
        return f"its parameters are ({', '.join(found)})"
    return ""


def unseen() -> list[str]:
    """Why kernels of this process will be missing in a trace that begins now; empty: they will not."""
    optional = {_key(*entry[:3]) for entry in PATCHES if entry[4] in (TRITON, AOTI)}
    missing = {key: reason for key, reason in _installed.items() if reason and key not in optional}
    reasons = [f"{key}: {reason}" for key, reason in missing.items()]
    module = sys.modules.get("torch._inductor.codecache")
    loaded = getattr(getattr(module, "PyCodeCache", None), "modules", [])
    early = sum(not _has_taps(loaded_module) for loaded_module in loaded)
    if early:
        reasons.append(f"{early} compiled graphs are older than the first recording of this process")
    return reasons


def _has_taps(module) -> bool:
    """Does a generated module, if it has kernels at all, have them tapped?"""
    scope = vars(module)
    return bool(scope.get(SEEN)) or "call" not in scope


def status() -> list[tuple[str, bool, str]]:
    """(what it gives, does it work with this torch, why not), one for each kind of tap."""
    import importlib

    problems: dict[str, list[str]] = {}
    for name, cls, attribute, _, gives, parameters in PATCHES:
        try:
            module = importlib.import_module(name)
            owner = getattr(module, cls, None) if cls else module
            reason = _misfit(owner, attribute, parameters)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        found = problems.setdefault(gives, [])
        if reason:
            found.append(f"{cls}.{attribute}: {reason}")
    return [(gives, not found, "; ".join(found)) for gives, found in problems.items()]


MODULES = sorted(
    {entry[0] for entry in PATCHES}
    | {"torch._decomp.decompositions", "torch._inductor.config", "torch.fx.proxy"}
)


def install(make) -> None:
    """Installs the taps, now or as their modules are imported; `make` makes what is put in place."""
    from ulpscope._imports import when_imported

    global backend
    backend = make
    for name in MODULES:
        when_imported(name, patch)
