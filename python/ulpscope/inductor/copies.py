"""Recognizes kernels' outputs that are copies: the same elements in another memory layout."""

from __future__ import annotations

import itertools


def copied_buffer(scheduled, lowering, size: list, stride: list) -> str | None:
    """The buffer whose elements, at the same logical places, one scheduler node writes; or None.

    `size` and `stride` are those of the buffer that it writes. The node must do nothing but load and
    store, and each element must come from the place where it goes, which is tried at places spread
    over the whole buffer. Shapes must be static.
    """
    body = getattr(scheduled, "_body", None)
    if body is None or body.subblocks or body.indirect_vars:
        return None
    indices = {}
    for node in body.root_block.graph.nodes:
        if node.op in ("placeholder", "output", "call_module"):
            continue
        if node.target not in ("load", "store") or node.target in indices:
            return None
        index = node.args[2]
        indices[node.target] = (node.args[1], body.indexing_exprs[index.args[0]])
    if set(indices) != {"load", "store"}:
        return None
    source, read = indices["load"]
    layout = _layout(lowering, source)
    if layout is None:
        return None
    try:
        size, stride = [int(s) for s in size], [int(s) for s in stride]
        source_size, source_stride = ([int(x) for x in part] for part in layout)
        if size != source_size:
            return None
        for point in _points({v: int(r) for v, r in body.var_ranges.items()}):
            there = _place(int(indices["store"][1].subs(point)), size, stride)
            if there is None or there != _place(int(read.subs(point)), source_size, source_stride):
                return None
    except (TypeError, ValueError):  # symbolic shapes
        return None
    return source


def _layout(lowering, name: str):
    try:
        layout = lowering.get_buffer(name).get_layout()
        return (layout.size, layout.stride) if layout.offset == 0 else None
    except Exception:
        return None


def _points(ranges: dict):
    """First, last, and some in between of each loop, in all combinations up to a bound."""
    choices = []
    for variable, extent in ranges.items():
        values = sorted({0, extent - 1, extent // 2, extent // 3, min(1, extent - 1)})
        choices.append([(variable, value) for value in values])
    for combination in itertools.islice(itertools.product(*choices), 200):
        yield dict(combination)


def _place(offset: int, size: list[int], stride: list[int]):
    """Logical coordinates of an offset in a dense layout, None where it is outside of it."""
    place = [0] * len(size)
    for dimension in sorted(range(len(size)), key=lambda d: -stride[d]):
        if size[dimension] > 1:
            place[dimension], offset = divmod(offset, stride[dimension])
    if offset or any(p >= s for p, s in zip(place, size)):
        return None
    return place
