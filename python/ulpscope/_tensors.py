"""Tensors out of a trace: captured elements, laid out in memory as the program had them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ulpscope.trace import Operand

# What frombuffer can't make, read as what it stores.
_STORED = {
    "qint8": torch.int8,
    "quint8": torch.uint8,
    "qint32": torch.int32,
    "complex32": torch.complex32,
}


def build(operand: Operand, values: bytes) -> torch.Tensor:
    """A tensor with these elements in row-major order, and the operand's dtype, shape and strides."""
    dtype = _STORED.get(operand.dtype) or getattr(torch, operand.dtype)
    shape, strides = operand.shape, operand.strides
    if not values:
        return torch.empty_strided(shape, strides, dtype=dtype)
    flat = torch.frombuffer(bytearray(values), dtype=torch.uint8).view(dtype)
    contiguous = flat.reshape(shape)
    if contiguous.stride() == strides:
        return contiguous
    # Through all places in memory that the strides reach, so that expanded and overlapping views
    # (equal elements in one place) come out as views of that kind.
    places = torch.zeros(shape, dtype=torch.int64)
    for dimension, (size, stride) in enumerate(zip(shape, strides)):
        along = [1] * len(shape)
        along[dimension] = size
        places += (torch.arange(size) * stride).view(along)
    width = dtype.itemsize
    memory = torch.zeros((int(places.max()) + 1) * width, dtype=torch.uint8).view(-1, width)
    memory[places.reshape(-1)] = flat.view(torch.uint8).view(-1, width)
    return memory.view(-1).view(dtype).as_strided(shape, strides)
