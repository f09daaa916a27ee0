"""Trains a small transformer: `program.py FAULT STEPS`, with another loss in step FAULT."""

import sys

import torch

torch.manual_seed(0)
fault, steps = int(sys.argv[1]), int(sys.argv[2])
layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
model = torch.nn.Sequential(
    torch.nn.Linear(8, 32),
    torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False),
    torch.nn.Linear(32, 4),
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(steps):
    x = torch.randn(4, 6, 8)
    opt.zero_grad()
    loss = model(x).square().mean()
    if step == fault:
        loss = loss * 1.0001
    loss.backward()
    opt.step()
