"""Three training steps of a small transformer, compiled: `transformer.py gpt2|llama`.

Prints, as JSON, a digest of the final parameters and, where it is not recorded, the number of calls of
generated kernels by the interpreter's own profile events.
"""

import hashlib
import json
import os
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

kernels = 0


def profile(frame, event, called):
    global kernels
    if event == "c_call" and called.__name__ == "kernel" and called.__module__ != "builtins":
        kernels += 1


torch.manual_seed(0)
if sys.argv[1] == "gpt2":
    model = GPT2LMHeadModel(
        GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=200, n_positions=32,
                   attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    )  # fmt: skip
else:
    model = LlamaForCausalLM(
        LlamaConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128,
                    num_attention_heads=4, vocab_size=200)
    )  # fmt: skip
ids = torch.randint(0, 200, (2, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
forward = torch.compile(model)
if "ULPSCOPE_RECORD" not in os.environ:
    sys.setprofile(profile)
for _ in range(3):
    optimizer.zero_grad()
    forward(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
sys.setprofile(None)
digest = hashlib.sha256()
for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
print(json.dumps({"parameters": digest.hexdigest(), "kernels": kernels}))
