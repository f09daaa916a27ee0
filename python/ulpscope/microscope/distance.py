"""How far two tensors are apart."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass
class Distance:
    """Of b from a, over all elements. NaNs of both at one place are no difference."""

    elements: int = 0
    differing: int = 0  #: elements that are not bitwise equal
    relative: float = 0.0  #: |a - b| / max(|a|, |b|), L2; inf or nan where values are
    ulp: float | None = None  #: root mean square difference in ulps of the values; None for integers
    largest: float = 0.0  #: max |a - b|
    place: tuple[int, ...] | None = None  #: where that is
    values: tuple[float, float] | None = None  #: a and b there

    @property
    def departs(self) -> bool:
        return self.differing > 0


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Bitwise equality, dtype and shape included."""
    import torch

    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(_bits(a), _bits(b))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.resolve_neg().contiguous().view(integers[tensor.element_size()])


def between(a: torch.Tensor, b: torch.Tensor) -> Distance:
    """Distance of two tensors of one shape; of different dtypes, elements that are equal as numbers
    do not differ."""
    import torch

    if a.shape != b.shape:
        return Distance(a.numel(), max(a.numel(), b.numel(), 1), math.inf)
    result = Distance(elements=a.numel())
    if a.numel() == 0:
        return result
    x, y = _numbers(a), _numbers(b)
    if a.dtype == b.dtype:
        differs = _bits(a) != _bits(b)
        if differs.dim() > a.dim():  # complex: two components
            differs = differs.any(-1)
    else:
        differs = (x != y) & ~(x.isnan() & y.isnan())
    both_nan = x.isnan() & y.isnan()
    differs = differs & ~both_nan
    result.differing = int(differs.sum())
    if not result.differing:
        return result
    gap = torch.where(x == y, torch.zeros_like(x), x - y).abs()
    gap = torch.where(both_nan, torch.zeros_like(gap), gap)
    norm = max(
        float(torch.linalg.vector_norm(torch.where(x.isfinite(), x, 0))),
        float(torch.linalg.vector_norm(torch.where(y.isfinite(), y, 0))),
    )
    error = float(torch.linalg.vector_norm(gap))
    result.relative = error / norm if norm else (math.inf if error else 0.0)
    ranked = gap.nan_to_num(nan=math.inf, posinf=math.inf)
    if float(ranked.max()) == 0.0:
        ranked = differs.to(ranked.dtype)  # 0 and -0
    flat = int(ranked.reshape(-1).argmax())
    result.place = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), a.shape))
    result.values = (float(x.reshape(-1)[flat]), float(y.reshape(-1)[flat]))
    result.largest = float(gap.reshape(-1)[flat])
    result.ulp = _ulps(x, y, error, a.dtype)
    return result


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj()).to(torch.float64).norm(dim=-1)
    return tensor.to(torch.float64)


def _ulps(x, y, error: float, dtype) -> float | None:
    """As fingerprint/compare: the root mean square difference over all elements, in units in the last
    place at the root mean square of the values."""
    import torch

    if not (dtype.is_floating_point or dtype.is_complex):
        return None
    finite = torch.where(x.isfinite(), x, 0)
    magnitude = float(torch.linalg.vector_norm(finite)) / math.sqrt(x.numel())
    magnitude = max(magnitude, torch.finfo(dtype).tiny)
    spacing = math.ldexp(torch.finfo(dtype).eps, math.frexp(magnitude)[1] - 1)
    return error / math.sqrt(x.numel()) / spacing
