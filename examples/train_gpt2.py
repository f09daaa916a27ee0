"""Trains a small GPT-2 for a few steps on fixed random tokens.

    python examples/train_gpt2.py [--compile] [--steps N]

An ordinary program: it knows nothing of ulpscope.
"""

import argparse
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true", help="compile the model with Inductor")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=2, n_embd=128, n_head=4, vocab_size=1000, n_positions=128,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
    )
    model = GPT2LMHeadModel(config)
    tokens = torch.randint(0, config.vocab_size, (2, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = torch.compile(model) if arguments.compile else model

    for step in range(arguments.steps):
        optimizer.zero_grad()
        loss = forward(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
