"""`python train.py MODE [gpt2|llama] [STEPS]`: tests/cases/transformer_step.py, and what became of it.

Prints one JSON object: a hash of the final parameters, the losses, and what Dynamo and Inductor count.
"""

import hashlib
import json
import pathlib
import runpy
import sys

case = pathlib.Path(__file__).resolve().parents[2] / "cases" / "transformer_step.py"
scope = runpy.run_path(str(case), run_name="__main__")

digest = hashlib.sha256()
for name, value in scope["model"].state_dict().items():
    digest.update(name.encode() + value.contiguous().view(-1).numpy().tobytes())

counted = {}
if "torch._dynamo.utils" in sys.modules:
    for group, values in sys.modules["torch._dynamo.utils"].counters.items():
        counted[group] = dict(values)
    counted.pop("compiler_subsystem", None)
print(json.dumps({"parameters": digest.hexdigest(), "counters": counted}, sort_keys=True))
