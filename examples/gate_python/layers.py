"""The layers of this project, with one op of its own: shop::rms_norm."""

import torch


@torch.library.custom_op("shop::rms_norm", mutates_args=())
def rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.eps = inputs[1]


def _backward(ctx, gradient):
    (x,) = ctx.saved_tensors
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + ctx.eps)
    along = (gradient * x).mean(-1, keepdim=True)
    return gradient * scale - x * along * scale**3, None


rms_norm.register_autograd(_backward, setup_context=_keep)


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.silu(self.up(rms_norm(x, 1e-6))))
