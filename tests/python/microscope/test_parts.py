"""Parts of the microscope on values made by hand."""

import json
import math

import pytest
import torch

import ulpscope  # noqa: F401 - found as the other tests find it
from ulpscope.inductor import graph_text
from ulpscope.microscope import decode, distance, operands, settings
from ulpscope.microscope.kernel_graph import Call, Graph, Kernel, Node
from ulpscope.microscope.open_kernel import digest, open_kernel


def test_distance_of_a_rounding():
    a = torch.full((4,), 1.0)
    b = a.clone()
    b[2] = math.nextafter(1.0, 2.0)  # float64's next is float32's same
    assert distance.between(a, b).differing == 0
    b[2] = torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))
    found = distance.between(a, b)
    assert (found.elements, found.differing, found.place) == (4, 1, (2,))
    assert found.largest == 2.0**-23
    assert found.ulp == pytest.approx(0.5)  # root mean square over four elements
    assert found.relative == pytest.approx(2.0**-23 / 2, rel=1e-6)


def test_distance_of_zeros_nans_and_integers():
    assert distance.between(torch.tensor([0.0]), torch.tensor([-0.0])).differing == 1
    nan = torch.tensor([float("nan"), 1.0])
    assert not distance.between(nan, nan.clone()).departs
    assert distance.between(nan, torch.tensor([1.0, 1.0])).departs
    found = distance.between(torch.tensor([3, 7]), torch.tensor([3, 9]))
    assert (found.differing, found.ulp) == (1, None)


VALUES = [
    None, True, 3, 1.5, "mean", [1, [2.0, None]], torch.bfloat16, torch.device("cpu"),
    torch.strided, torch.channels_last, 1 + 2j, slice(1, None, 2), float("inf"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_arguments_survive_being_written_down(value):
    text = json.dumps(graph_text.encode(value, lambda x: None))
    assert decode.decode(json.loads(text), None, decode.Symbols()) == value


def test_small_constants_survive_and_large_ones_say_so():
    small = torch.tensor([[1.0, 2.0]], dtype=torch.float16)
    back = decode.decode(graph_text.encode(small, lambda x: None), None, decode.Symbols())
    assert back.dtype == torch.float16 and torch.equal(back, small)
    with pytest.raises(decode.Unknown, match="not written down"):
        decode.decode(graph_text.encode(torch.zeros(1000), lambda x: None), None, decode.Symbols())


def test_sizes_are_found_from_tensors():
    symbols = decode.Symbols()
    symbols.learn(["s0", 4, "s0*2"], (3, 4, 6))
    assert symbols.value("s0*2 + 1") == 7
    assert symbols.value("(s0//2)") == 1
    with pytest.raises(decode.Unknown, match="s9"):
        symbols.value("s9")


def test_operands_are_read_by_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    tensors = {
        "turned": torch.randn(3, 4).t(),
        "half": torch.randn(5).bfloat16(),
        "index": torch.tensor(7),
        "none": torch.empty(0, 3),
        "flag": torch.tensor([True, False]),
    }
    operands.save(str(tmp_path / "x.safetensors"), tensors)
    back = safetensors.load_file(tmp_path / "x.safetensors")
    assert back.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor), name


def test_only_settings_that_are_not_defaults_count():
    environment = {
        "inductor.emulate_precision_casts": "True",
        "inductor.cpp.simdlen": "None",
        "inductor.cpp.threads": "3",
        "inductor.gone": "1",
        "threads.intra_op": "2",
    }
    assert settings.changed(environment) == {"emulate_precision_casts": True, "cpp.threads": 3}


def node(name, target, args, call=None, values=(), dtype="float32", shape=(8, 8), kwargs=None):
    kind = "call_function" if target else "placeholder"
    stride = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    val = {"dtype": dtype, "shape": list(shape), "stride": stride}
    return Node(name, kind, target or name, args, kwargs or {}, val, call, list(values))


def graph(nodes, calls):
    return Graph({n.name: n for n in nodes}, {c.number: c for c in calls}, {n.name: i for i, n in enumerate(nodes)})


@pytest.fixture
def wrong_decomposition():
    """A kernel `relu(neg(x))` of which the compiler made `relu` as maximum(x, 0.5)."""
    nodes = [
        node("x", "", []),
        node("neg", "aten.neg.default", [{"node": "x"}], 0, [(0, 0)]),
        node("clamp", "aten.clamp_min.default", [{"node": "neg"}, 0.5], 1, [(1, 0)]),
        node("twice", "aten.mul.Tensor", [{"node": "clamp"}, 2], 2, [(2, 0)]),
    ]
    calls = [
        Call(0, "aten::neg", "default", False, 0, "aten.neg.default", [{"node": "x"}], {}),
        Call(1, "aten::relu", "default", False, 1, "aten.relu.default", [{"value": [0, 0], "node": "neg"}], {}),
        Call(2, "aten::mul", "Tensor", False, 2, "aten.mul.Tensor", [{"value": [1, 0], "node": "clamp"}, 2], {}),
    ]
    return graph(nodes, calls)


def test_the_op_that_was_lowered_wrong_is_found(wrong_decomposition, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.manual_seed(0)
    x = torch.randn(8, 8)
    written = torch.clamp_min(-x, 0.5) * 2
    kernel = Kernel(wrong_decomposition, ["twice"], {"x": x})
    opened = open_kernel(kernel, digests={"twice": digest(written)})
    assert opened.faithful is True
    assert [op.origin for op in opened.ops] == [False, True, False]
    assert opened.ops[2].inherits
    assert (opened.first, opened.dominant) == (opened.ops[1], opened.ops[1])
    assert opened.first.nearer == "eager"
    assert opened.first.share == 1.0


def test_what_was_not_captured_is_named(wrong_decomposition):
    with pytest.raises(decode.Unknown, match="value of x was not captured"):
        Kernel(wrong_decomposition, ["twice"], {})
