"""A small model, trained two steps by code that calls its kernels from C++; prints a digest of the
final parameters."""

import hashlib
import json
import sys

import torch
import torch._inductor.config

torch._inductor.config.cpp_wrapper = "eager" not in sys.argv


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.inner = torch.nn.Linear(16, 32)
        self.outer = torch.nn.Linear(32, 16)

    def forward(self, x):
        return x + self.outer(torch.nn.functional.gelu(self.inner(self.norm(x))))


torch.manual_seed(0)
torch.set_num_threads(1)
model = Block()
compiled = model if "eager" in sys.argv else torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    compiled(torch.randn(4, 16)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
print(json.dumps({"parameters": digest.hexdigest()}))
