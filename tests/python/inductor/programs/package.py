"""One block of GPT-2: made, compiled to an AOTInductor package, or run, eager or from a package.

    package.py compile PACKAGE      compiles the block
    package.py eager                runs it as it is
    package.py run PACKAGE          runs the package from Python
Weights and the input come from seed 0. `run` and `eager` print a checksum as run_package.cpp does.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.ln_1(x)).split(width, -1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


def checksum(tensor):
    total = 0
    for byte in tensor.contiguous().numpy().tobytes():
        total = (total * 1099511628211 + byte) & (2**64 - 1)
    return f"{total:016x}"


torch.set_num_threads(1)
torch.manual_seed(0)
model = Block().eval()
torch.manual_seed(0)
x = torch.randn(2, 8, 32)
with torch.no_grad():
    if sys.argv[1] == "compile":
        exported = torch.export.export(model, (x,))
        torch._inductor.aoti_compile_and_package(exported, package_path=sys.argv[2])
    elif sys.argv[1] == "run":
        print(checksum(torch._inductor.aoti_load_package(sys.argv[2])(x)))
    else:
        print(checksum(model(x)))
