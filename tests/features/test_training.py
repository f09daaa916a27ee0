"""What training loops use."""

import copy

import pytest
import torch
from conftest import PLANTED, train
from feature import feature
from torch import nn


@feature("torch.load(weights_only=True)", "loaded parameters as sources: a changed one is named")
def test_load_weights_only(net, data, record, diff, tmp_path):
    torch.save(net.state_dict(), tmp_path / "a.pt")
    changed = copy.deepcopy(net.state_dict())
    changed["second.weight"][1, 2] += 1e-3
    torch.save(changed, tmp_path / "b.pt")

    def call(name):
        net.load_state_dict(torch.load(tmp_path / name, weights_only=True))
        return lambda: net(data)

    clean = record(call("a.pt"))
    assert diff(clean, record(call("a.pt")))["verdict"] == "identical"
    answer = diff(clean, record(call("b.pt")))
    assert answer["first"]["label"] == "source"
    assert answer["first"]["module"] == "second"
    assert "a parameter that differs" in answer["first"]["explanation"]


@feature("activation checkpointing", "the forward ops again, inside the backward phase")
def test_checkpoint(net, data, planted, compare):
    from torch.utils.checkpoint import checkpoint

    def run(wrap):
        model = copy.deepcopy(net)
        x = data.clone().requires_grad_()
        wrap(model, x).sum().backward()

    def recomputed():
        run(lambda model, x: checkpoint(model, x, use_reentrant=False))

    planted(recomputed)
    answer = compare(lambda: run(lambda model, x: model(x)), recomputed)
    # Recomputing adds ops and changes no value.
    assert answer["verdict"] in ("identical", "structural")
    assert answer["counts"]["origin"] == 0


@feature("autocast and GradScaler", "casts as ops; the scale as a tensor")
def test_autocast(net, data, planted, compare):
    def run(enabled=True):
        model = copy.deepcopy(net)
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            loss = model(data).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    planted(run)
    answer = compare(lambda: run(False), run)
    assert answer["first"]["label"] == "structural"
    assert any(e["key"].startswith("autocast") for e in answer["environment"]) or answer["first"]


@feature("_foreach ops and foreach_map", "each tensor of a list with its position")
def test_foreach_map(planted):
    from torch._higher_order_ops.foreach_map import foreach_map

    values = [torch.randn(4), torch.randn(5)]

    compiled = torch.compile(lambda xs: foreach_map(torch.add, xs, xs))

    def run():
        for value in compiled([torch.ops.planted.layer(value) for value in values]):
            value.sin()

    planted(run)


@feature("foreach and fused optimizers", "written parameters before and after; other hyperparameters as scalars")
@pytest.mark.parametrize("how", ["foreach", "fused"])
def test_optimizers(net, data, record, diff, planted, how):
    planted(lambda: train(net, data, **{how: True}))
    clean = record(lambda: train(net, data, **{how: True}))
    other = record(lambda: train(net, data, **{how: True}, weight_decay=0.5))
    answer = diff(clean, other)
    assert answer.status == 3
    assert answer["first"]["difference"] == "scalar"
    assert answer["first"]["phase"] == "optimizer"


@feature("DataLoader with workers", "what the workers send, as a source; their own ops are not seen")
def test_data_loader(net, data, planted):
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(data), batch_size=3, num_workers=2
    )

    def run():
        for (batch,) in loader:
            net(batch)

    planted(run, module=None)


@feature("DebugMode at the same time", "the program's own ops, and DebugMode's log unchanged")
def test_debug_mode(net, data, planted, compare):
    from torch.utils._debug_mode import DebugMode

    def run():
        with DebugMode():
            net(data)

    planted(run)
    assert compare(lambda: net(data), run)["verdict"] == "identical"


@feature("torch.func: vmap, grad, jvp", "the wrapped op as an enclosing entry, the batched ops inside it")
def test_functional_transforms(planted, data):
    torch.manual_seed(0)
    linear = nn.Linear(8, 4)
    parameters = dict(linear.named_parameters())

    def loss(parameters, x):
        return torch.func.functional_call(linear, parameters, (x,)).sin().sum()

    def run():
        gradients = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, data)
        torch.func.jvp(torch.cos, (data,), (data,))
        torch.ops.planted.layer(gradients["weight"])

    planted(run)
