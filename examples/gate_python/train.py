"""Trains a small network on made-up data. An ordinary program: it knows nothing of ulpscope.

ulpscope-gate/ holds the numbers that were accepted; `ulpscope gate check` compares a run with them.
"""

import torch

from layers import Block

STEPS = 4


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), Block(32), Block(32), torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    inputs = torch.randn(64, 16)
    targets = torch.sin(inputs[:, :4])
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
