"""Tensors in a .safetensors file, with their strides in its metadata."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

#: torch's names to those of the format (huggingface/safetensors, docs/source/metadata_parsing.mdx).
DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "complex64": "C64", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}  # fmt: skip


def save(path: str, tensors: dict[str, torch.Tensor]) -> None:
    """Elements are stored in row-major order; "strides" of the metadata says how they lay."""
    import torch

    header: dict = {
        "__metadata__": {
            "strides": json.dumps({name: list(t.stride()) for name, t in tensors.items()})
        }
    }
    blocks, position = [], 0
    # By decreasing alignment, as the format asks for.
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        kind = DTYPES.get(str(tensor.dtype).removeprefix("torch."))
        if kind is None:
            raise ValueError(f"a tensor of {tensor.dtype} can't be stored in safetensors")
        flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
        block = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        header[name] = {
            "dtype": kind,
            "shape": list(tensor.shape),
            "data_offsets": [position, position + len(block)],
        }
        position += len(block)
        blocks.append(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        file.writelines(blocks)
