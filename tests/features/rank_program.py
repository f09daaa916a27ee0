"""Small training jobs on all ranks of torchrun: OUT MODE[:FAULT]..., each recorded into OUT/MODE-FAULT/.

Without OUT (as "-") the jobs run and nobody records them from inside.
"""

import contextlib
import datetime
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn

rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
odd = rank == world - 1  # the rank that is at fault
torch.set_num_threads(1)
factor = 1.0


@torch.library.custom_op("planted::layer", mutates_args=())
def layer(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * factor


@layer.register_fake
def _(x):
    return torch.empty_like(x)


layer.register_autograd(
    lambda ctx, gradient: gradient * (1 - ctx.saved_tensors[0] ** 2),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(layer(self.first(x)))


def wrapped(mode, net):
    if mode == "ddp":
        return nn.parallel.DistributedDataParallel(net)
    if mode == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (world,))
        for part in (net.first, net.second):
            fully_shard(part, mesh=mesh)
        return fully_shard(net, mesh=mesh)
    return net


def job(mode, fault):
    global factor
    factor = 1.01 if fault == "layer" and odd else 1.0
    torch.manual_seed(1 if fault == "seed" and odd else 0)
    net = Net()
    if fault == "weights" and odd:
        with torch.no_grad():
            net.second.weight[0, 0] += 1e-3
    torch.manual_seed(10)
    data = [batch[rank] for batch in torch.randn(2, world, 6, 8)]
    model = wrapped(mode, net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scale = 1.01 if fault == "scale" and odd else 1.0
    for step, x in enumerate(data):
        optimizer.zero_grad()
        loss = model(x).square().mean() * scale
        loss.backward()
        if mode == "manual":
            for i, parameter in enumerate(net.parameters()):
                if fault == "nosync" or (fault == "dropped" and i == 2):
                    continue  # a reduction that is not there
                if fault == "skip" and odd and step == 1 and i == 3:
                    return  # the others wait for this rank
                kind = dist.ReduceOp.MAX if fault == "kind" and odd and i == 1 else dist.ReduceOp.SUM
                dist.all_reduce(parameter.grad, op=kind)
                parameter.grad /= world
        optimizer.step()
        if rank == 0:
            loss.item()  # what rank 0 alone does, and nobody else depends on


out, *jobs = sys.argv[1:]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
for each in jobs:
    mode, _, fault = each.partition(":")
    recorded = contextlib.nullcontext()
    if out != "-":
        import ulpscope

        folder = pathlib.Path(out, each.replace(":", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        recorded = ulpscope.record(folder / "run.ulps")
    try:
        with recorded:
            job(mode, fault)
    except RuntimeError as error:
        print(f"rank {rank}: {error}")
    if fault == "skip":
        os._exit(0)  # the last of the jobs: its group is broken
dist.destroy_process_group()
