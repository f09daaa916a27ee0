"""Where each kernel call of a compiled graph came from: plain data, kept with the compiled graph.

`GraphRecord` is pickled with the CompiledFxGraph in Inductor's cache, so that a process in which
nothing is compiled has it too.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field

from . import report
from .fx_nodes import frames

VERSION = 7
ATTRIBUTE = "_ulpscope"  # of a CompiledFxGraph, holds GraphRecord.pack()


@dataclass
class Source:
    """One op of the program; mirrors store/records.h SourceOp."""

    node: str
    op: str
    overload: str
    module: str
    module_class: str
    backward: bool
    order: int
    stack: tuple[tuple[str, int, str], ...]  # (file, line, function), innermost first


@dataclass
class Tie:
    """The value that a parameter holds after the call; mirrors OutputTie, by parameter name."""

    source: int = -1  # index in Site.sources; -1: a value that the program does not have
    output: int = 0  # which output of that op
    transform: str = "same"  # "same", "reshaped" (same elements in the same order), "permuted"
    confidence: float = 0.0
    how: str = ""


@dataclass
class Site:
    """One call site: a kernel under its provenance handle, or an extern kernel."""

    kernel: str
    sources: list[Source] = field(default_factory=list)
    # Parameter name -> the values of the program that it holds, all the same elements, best first.
    ties: dict[str, list[Tie]] = field(default_factory=dict)
    uninitialised: list[str] = field(default_factory=list)  # parameters without a value at entry
    unwritten: list[str] = field(default_factory=list)  # in_out_ptr that is only read
    extern: bool = False
    graph: int = -1  # index in GraphRecord.graphs
    # Parameter name -> node of that graph: whose value it has at entry, and after the call.
    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)


@dataclass
class GraphRecord:
    backward: bool = False
    sites: dict[str, Site] = field(default_factory=dict)  # "kernel:handle"
    graphs: list[dict] = field(default_factory=list)  # graph_text.graph: the FX graphs

    def pack(self) -> dict:
        """Plain builtins only: the cache entry must load where this package is not installed."""
        return {"version": VERSION, **asdict(self)}

    @staticmethod
    def unpack(data: dict) -> GraphRecord | None:
        if not isinstance(data, dict) or data.get("version") != VERSION:
            return None
        record = GraphRecord(data["backward"], graphs=data["graphs"])
        for key, site in data["sites"].items():
            record.sites[key] = Site(
                site["kernel"],
                [Source(**source) for source in site["sources"]],
                {name: [Tie(**tie) for tie in ties] for name, ties in site["ties"].items()},
                site["uninitialised"],
                site["unwritten"],
                site["extern"],
                site["graph"],
                site["reads"],
                site["writes"],
            )
        return record

    def text(self) -> str:
        """What a trace keeps for ulpscope.microscope: the graphs and which nodes each kernel call
        reads and writes."""
        sites = [
            {
                "kernel": site.kernel,
                "sources": [source.node for source in site.sources],
                "graph": site.graph,
                "reads": site.reads,
                "writes": site.writes,
            }
            for site in self.sites.values()
            if not site.extern and site.graph >= 0
        ]
        return json.dumps({"version": VERSION, "graphs": self.graphs, "sites": sites})


FILE = "ulpscope.json"  # beside the code of an AOTInductor package
NATIVE_FORMAT = 1  # of native_text(); dispatch_hook/native/site_record.h reads it


def native_text(record: GraphRecord) -> str:
    """What the recorder needs to know of calls that C++ makes. Packages keep it: change with care."""
    sites = {
        key: {
            "sources": [asdict(source) for source in site.sources],
            "ties": {name: [asdict(tie) for tie in ties] for name, ties in site.ties.items()},
            "uninitialised": site.uninitialised,
            "unwritten": site.unwritten,
        }
        for key, site in record.sites.items()
    }
    return json.dumps({"format": NATIVE_FORMAT, "sites": sites})


def write(record: GraphRecord, files) -> None:
    """Puts the record beside what AOTInductor has compiled: a library's path, or a package's files."""
    listed = isinstance(files, list)
    code = [f for f in files if isinstance(f, str)] if listed else [files]
    library = next(f for f in code if f.endswith((".so", ".cpp")))
    path = os.path.join(os.path.dirname(library), FILE)
    with open(path, "w") as out:
        out.write(native_text(record))
    if listed:
        files.append(path)


def of(compiled) -> GraphRecord:
    """The record of a compiled graph, as good as it can be had."""
    data = compiled.__dict__.get(ATTRIBUTE)
    try:
        record = GraphRecord.unpack(data)
        if record is not None:
            return record
    except Exception as error:
        report("cannot read a cached graph's provenance", error)
    report(
        "kernels without ties",
        f"graph {compiled.cache_key} was put in Inductor's cache without ulpscope or by another "
        "version of it; remove it from the cache (TORCHINDUCTOR_CACHE_DIR) to compare its kernels",
    )
    return from_strings(compiled)


def from_strings(compiled) -> GraphRecord:
    """What Inductor itself keeps: node names, without ties. For entries that were cached without us."""
    record = GraphRecord()
    try:
        mapping = json.loads(compiled.inductor_provenance_mapping_str or "{}")
        traces = json.loads(compiled.inductor_provenance_stack_traces_str or "{}")
        for key, names in mapping.get("cppCodeToPost", {}).items():
            site = record.sites[key] = Site(key.rsplit(":", 1)[0])
            stacks = [frames(text) for text in traces.get(key, [])]
            for order, name in enumerate(names):
                stack = stacks[0] if len(stacks) == 1 else ()
                site.sources.append(Source(name, "", "", "", "", False, order, stack))
    except Exception as error:
        report("cannot read a cached graph's provenance", error)
    return record
