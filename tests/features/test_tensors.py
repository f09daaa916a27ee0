"""Tensors that are not plain."""

import pytest
import torch
from conftest import PLANTED
from feature import feature


@feature("sparse tensors (COO, CSR)", "indices and values in the digest, statistics of the values")
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse(layout, record, diff):
    dense = torch.randn(6, 6) * (torch.rand(6, 6) > 0.5)
    right = torch.randn(6, 3)

    def run(factor):
        def call():
            matrix = dense.to_sparse(layout=layout)
            product = matrix @ right
            torch.ops.planted.layer(product)

        return call

    clean = record(run(1))
    assert diff(clean, record(run(1)))["verdict"] == "identical"
    assert diff(clean, record(run(1), fault=True)).first_op == PLANTED


@feature("nested tensors (strided and jagged)", "the buffer and the sizes")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested(layout, planted):
    parts = [torch.randn(2, 4), torch.randn(3, 4)]

    def run():
        nested = torch.nested.nested_tensor(parts, layout=layout)
        scaled = nested * 2
        torch.ops.planted.layer(scaled.values() if layout is torch.jagged else scaled.to_padded_tensor(0.0))

    planted(run)


@feature("quantized tensors", "the integers, their scale and zero point as scalars")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_quantized(record, diff):
    x = torch.randn(5, 8)

    def run(scale):
        def call():
            quantized = torch.quantize_per_tensor(x, scale, 3, torch.qint8)
            quantized.dequantize().sum()

        return call

    clean = record(run(0.1))
    assert diff(clean, record(run(0.1)))["verdict"] == "identical"
    answer = diff(clean, record(run(0.2)))
    assert answer["first"]["difference"] == "scalar"
    assert answer.first_op == "aten::quantize_per_tensor"


@feature("sub-byte and float8 dtypes", "every element, in its own dtype")
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu])
def test_small_floats(dtype, record, diff):
    x = torch.randn(5, 8).abs() + 1

    def run(factor):
        return lambda: torch.ops.planted.layer((x * factor).to(dtype).float())

    clean = record(run(1.0))
    assert diff(clean, record(run(1.0)))["verdict"] == "identical"
    answer = diff(clean, record(run(2.0)))
    assert answer["first"]["difference"] == "scalar"


@feature("tensor subclasses and __torch_dispatch__ wrappers", "the wrapped op as an enclosing entry, the inner ops")
def test_wrapper_subclass(planted, data):
    from torch.testing._internal.two_tensor import TwoTensor

    def run():
        both = TwoTensor(data, data * 2)
        both.sin() + 1
        torch.ops.planted.layer(data)

    planted(run)
