"""The programs in which faults are planted: small, real, deterministic, in eager mode.

A program is built afresh for every run from a fixed seed, so that two runs without a fault are
bit-identical. `build(name)` gives a Program; `Program.run()` runs it from beginning to end.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Program:
    """model: the parameters; batches: what is fed; loss: of (model, batch); steps: of training
    (0: inference only); optimizer: made by run, so that a fault can change its settings first."""

    model: nn.Module
    batches: list
    loss: Callable
    training: bool
    seed: int = 0  # of the random numbers that it draws while it runs
    settings: dict = field(default_factory=lambda: {"lr": 1e-3, "weight_decay": 0.01, "eps": 1e-8})

    def run(self):
        torch.manual_seed(self.seed)
        if not self.training:
            self.model.eval()
            with torch.no_grad():
                for batch in self.batches:
                    self.loss(self.model, batch)
            return
        optimizer = torch.optim.AdamW(self.model.parameters(), **self.settings)
        for batch in self.batches:
            optimizer.zero_grad()
            self.loss(self.model, batch).backward()
            optimizer.step()


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.norm2 = nn.GroupNorm(4, 16)
        self.act = nn.GELU()
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.act(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        return self.head(self.pool(x).flatten(1))


class Recurrent(nn.Module):
    """A GRU cell unrolled by hand: the same module runs at each time step."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.cell = nn.GRUCell(16, 24)
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 50)

    def forward(self, ids):
        state = ids.new_zeros((ids.shape[0], 24), dtype=torch.float32)
        outputs = []
        for t in range(ids.shape[1]):
            state = self.norm(self.cell(self.embed(ids[:, t]), state))
            outputs.append(self.head(state))
        return torch.stack(outputs, 1)


class Lstm(nn.Module):
    """torch's own LSTM, both ways, over a projected sequence."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 12)
        self.lstm = nn.LSTM(12, 10, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(20)
        self.head = nn.Linear(20, 4)

    def forward(self, x):
        return self.head(self.norm(self.lstm(F.silu(self.project(x)))[0]).mean(1))


class ResBlock(nn.Module):
    def __init__(self, inner, outer, time):
        super().__init__()
        self.norm = nn.GroupNorm(2, inner)
        self.conv = nn.Conv2d(inner, outer, 3, padding=1)
        self.time = nn.Linear(time, outer)
        self.act = nn.SiLU()
        self.skip = nn.Conv2d(inner, outer, 1)

    def forward(self, x, t):
        h = self.conv(self.act(self.norm(x))) + self.time(self.act(t))[:, :, None, None]
        return h + self.skip(x)


class UNet(nn.Module):
    """Diffusion-style: a noise prediction from an image and a time step."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
        self.down = ResBlock(4, 8, 16)
        self.middle = ResBlock(8, 8, 16)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.up = ResBlock(16, 4, 16)

    def forward(self, x, t):
        angle = t[:, None] * torch.exp(-torch.arange(8.0) / 2)
        t = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        down = self.down(x, t)
        h = self.middle(F.avg_pool2d(down, 2), t)
        tokens = h.flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens, tokens, tokens, need_weights=False)[0]
        h = tokens.transpose(1, 2).reshape(h.shape)
        return self.up(torch.cat([F.interpolate(h, scale_factor=2), down], 1), t)


class Experts(nn.Module):
    """A mixture of experts with top-2 routing."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)) for _ in range(4)
        )
        self.head = nn.Linear(16, 8)

    def forward(self, x):
        h = self.norm(x)
        weight, chosen = torch.topk(torch.softmax(self.gate(h), -1), 2)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            row, slot = torch.where(chosen == index)
            out = out.index_add(0, row, weight[row, slot, None] * expert(h[row]))
        return self.head(x + out)


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=64, n_positions=32,
                   attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    )


def _dropout():
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=64, n_positions=32))


def _vit():
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(
        ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                  image_size=16, patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                  num_labels=6)
    )


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(num_hidden_layers=2, hidden_size=32, intermediate_size=48,
                    num_attention_heads=2, vocab_size=64)
    )


def _language_batches():
    return [torch.randint(0, 64, (2, 12)) for _ in range(2)]


_KINDS = {
    "gpt2": (_gpt2, _language_batches, lambda m, ids: m(input_ids=ids, labels=ids).loss),
    "dropout": (_dropout, _language_batches, lambda m, ids: m(input_ids=ids, labels=ids).loss),
    "vit": (
        _vit,
        lambda: [(torch.randn(2, 3, 16, 16), torch.randint(0, 6, (2,))) for _ in range(2)],
        lambda m, b: m(pixel_values=b[0], labels=b[1]).loss,
    ),
    "lstm": (
        Lstm,
        lambda: [(torch.randn(3, 5, 6), torch.randint(0, 4, (3,))) for _ in range(2)],
        lambda m, b: F.cross_entropy(m(b[0]), b[1]),
    ),
    "llama": (_llama, _language_batches, lambda m, ids: m(input_ids=ids, labels=ids).loss),
    "convnet": (
        ConvNet,
        lambda: [(torch.randn(4, 3, 12, 12), torch.randint(0, 10, (4,))) for _ in range(2)],
        lambda m, b: F.cross_entropy(m(b[0]), b[1]),
    ),
    "recurrent": (
        Recurrent,
        lambda: [torch.randint(0, 50, (3, 7)) for _ in range(2)],
        lambda m, ids: F.cross_entropy(m(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()),
    ),
    "unet": (
        UNet,
        lambda: [(torch.randn(2, 4, 8, 8), torch.rand(2), torch.randn(2, 4, 8, 8)) for _ in range(2)],
        lambda m, b: F.mse_loss(m(b[0], b[1]), b[2]),
    ),
    "experts": (
        Experts,
        lambda: [(torch.randn(12, 16), torch.randn(12, 8)) for _ in range(2)],
        lambda m, b: F.mse_loss(m(b[0]), b[1]),
    ),
}

NAMES = [f"{kind}-{mode}" for kind in _KINDS for mode in ("training", "inference")]


def build(name: str) -> Program:
    """A fresh program; `name` is one of NAMES."""
    kind, mode = name.split("-")
    make, batches, loss = _KINDS[kind]
    torch.manual_seed(0)
    model = make()
    return Program(model, batches(), loss, mode == "training")
