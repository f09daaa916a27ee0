"""What recording costs a compiled training step: bare, and with kernel taps and full fingerprints.

    PYTHONPATH=<build>/python .venv/bin/python bench/compiled/compiled.py [--workload encoder|gpt2]
        [--wrapper python|cpp] [--rounds N] [--steps N] [--json FILE]

Two processes run the same program, one bare and one recorded; they take turns, a few steps each, so
that what else the machine does falls on both. Prints the ratio of a recorded turn's time to that of
the bare turn beside it: median, with the quartiles; and the same of the time that all threads of the
process spend on a CPU, the writer's too, which holds on a machine that is busy with other things.
Both check that they end with the same parameters.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def encoder():
    """4 layers, width 256, sequence 128, batch 8."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    data, target = torch.randn(8, 128, 256), torch.randn(8, 128, 256)
    compiled = torch.compile(lambda: nn.functional.mse_loss(model(data), target))
    return model, compiled


def gpt2():
    """tests/cases/transformer_step.py: 2 layers, width 128, sequence 64, batch 2."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=1000, n_positions=128,
                        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)  # fmt: skip
    model = GPT2LMHeadModel(config)
    ids = torch.randint(0, 1000, (2, 64))
    compiled = torch.compile(model)
    return model, lambda: compiled(input_ids=ids, labels=ids).loss


WORKLOADS = {"encoder": encoder, "gpt2": gpt2}


def child(workload: str, wrapper: str, threads: int) -> None:
    """Reads a number of steps from each line, runs them, writes how long they took."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import torch._inductor.config

    torch._inductor.config.cpp_wrapper = wrapper == "cpp"
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, loss = WORKLOADS[workload]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    for line in sys.stdin:
        steps = int(line)
        start, busy = time.perf_counter(), time.process_time()
        for _ in range(steps):
            step()
        print(time.perf_counter() - start, time.process_time() - busy, flush=True)
    parameters = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    print(hashlib.sha256(parameters).hexdigest(), flush=True)


class Program:
    def __init__(self, options, trace: str | None, cache: str):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ULPSCOPE_")}
        environment["TORCHINDUCTOR_CACHE_DIR"] = cache
        if trace is not None:
            import ulpscope

            inject = str(pathlib.Path(ulpscope.__file__).parent / "_inject")
            own = environment.get("PYTHONPATH")
            environment["PYTHONPATH"] = inject + (os.pathsep + own if own else "")
            environment |= {"ULPSCOPE_RECORD": "1", "ULPSCOPE_OUTPUT": trace}
            environment["ULPSCOPE_CAPTURE"] = options.capture
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", "--workload", options.workload,
             "--wrapper", options.wrapper, "--threads", str(options.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def run(self, steps: int) -> tuple[float, float]:
        """Seconds by the clock and on a CPU."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        clock, cpu = self.process.stdout.readline().split()
        return float(clock), float(cpu)

    def finish(self) -> str:
        self.process.stdin.close()
        digest = self.process.stdout.readline().strip()
        self.process.wait()
        return digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=WORKLOADS, default="encoder")
    parser.add_argument("--wrapper", choices=["python", "cpp"], default="python")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--steps", type=int, default=3, help="in a turn")
    parser.add_argument("--capture", default="none", help="captured values: none, or as record's option")
    parser.add_argument("--cache", help="Inductor's cache, to be kept")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.workload, options.wrapper, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or os.path.join(folder, "cache")
        trace = os.path.join(folder, "run.ulps")
        bare, recorded = Program(options, None, cache), Program(options, trace, cache)
        for program in (bare, recorded):
            program.run(2)  # compiles
        ratios, busy, times = [], [], []
        for _ in range(options.rounds):
            clock, cpu = bare.run(options.steps)
            recorded_clock, recorded_cpu = recorded.run(options.steps)
            ratios.append(recorded_clock / clock)
            busy.append(recorded_cpu / cpu)
            times.append(clock / options.steps)
        same = bare.finish() == recorded.finish()
        size = os.path.getsize(trace)
    low, middle, high = statistics.quantiles(ratios, n=4)
    low_cpu, middle_cpu, high_cpu = statistics.quantiles(busy, n=4)
    steps = 2 + options.rounds * options.steps
    print(f"{options.workload}, {options.wrapper} wrapper: {middle:.2f} ({low:.2f}-{high:.2f}) of the bare "
          f"step's {statistics.median(times) * 1e3:.2f} ms, on a CPU {middle_cpu:.2f} "
          f"({low_cpu:.2f}-{high_cpu:.2f}); {size / steps / 1024:.0f} KiB a step; "
          f"parameters {'identical' if same else 'DIFFER'}")  # fmt: skip
    if options.json:
        with open(options.json, "w") as file:
            figures = {"median": middle, "low": low, "high": high, "cpu": middle_cpu,
                       "bare_ms": statistics.median(times) * 1e3}  # fmt: skip
            json.dump({"workload": options.workload, "wrapper": options.wrapper, **figures}, file)
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
