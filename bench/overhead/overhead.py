"""What recording costs: bare eager, ours, and torch's DebugMode with hashes, interleaved in one run.

    PYTHONPATH=<build>/python .venv/bin/python bench/overhead/overhead.py [--rounds N] [--json FILE]

Prints, for each workload, the ratio of each way's time to bare eager's in the same round (median,
with the quartiles), and for ours the nanoseconds and file bytes an op. DebugMode hashes inputs and
outputs with hash_tensor, as recording fingerprints both in full.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import torch
from torch import nn

import ulpscope

Workload = Callable[[], None]


def transformer() -> Workload:
    """A training step of 4 layers, d 256, sequence 128, batch 8."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data, target = torch.randn(8, 128, 256), torch.randn(8, 128, 256)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()

    return step


def conv_net() -> Workload:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    data, target = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), target).backward()
        optimizer.step()

    return step


def tiny_adds() -> Workload:
    a, b = torch.randn(8), torch.randn(8)

    def run() -> None:
        for _ in range(10_000):
            torch.add(a, b)

    return run


def large_adds() -> Workload:
    a, b = torch.randn(16 << 20), torch.randn(16 << 20)

    def run() -> None:
        for _ in range(3):
            torch.add(a, b)

    return run


WORKLOADS = {
    "transformer step": (transformer, 3),
    "conv net step": (conv_net, 5),
    "10,000 adds of 8 floats": (tiny_adds, 1),
    "adds of 64 MiB": (large_adds, 1),
}


@contextlib.contextmanager
def recording(folder: str, found: dict, **options):
    path = os.path.join(folder, "run.ulps")
    if os.path.exists(path):
        os.remove(path)
    with ulpscope.record(path, **options):
        yield
    found["bytes"] = os.path.getsize(path)


@contextlib.contextmanager
def debug_mode():
    from torch.utils._debug_mode import DebugMode

    with DebugMode() as mode, mode.log_tensor_hashes("hash_tensor", hash_inputs=True):
        yield


def ops_of(path: str) -> int:
    return len(ulpscope.open(path))


def measure(make: Callable[[], Workload], repeat: int, rounds: int, folder: str, with_debug: bool):
    found: dict = {}
    ways = {
        "bare": contextlib.nullcontext,
        "ulpscope": lambda: recording(folder, found),
        "digest only": lambda: recording(folder, {}, level="digest"),
    }
    if with_debug:
        ways["DebugMode"] = debug_mode
    run = make()
    run()
    times: dict[str, list[float]] = {way: [] for way in ways}
    for round_ in range(rounds + 1):
        for way, enter in ways.items():
            gc.collect()
            with enter():
                run()  # the first run of a recording makes the file and meets the schemas
                start = time.perf_counter()
                for _ in range(repeat):
                    run()
                elapsed = (time.perf_counter() - start) / repeat
            if round_ > 0:
                times[way].append(elapsed)
    return times, found


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4)
    return low, middle, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", help="workloads whose name contains this")
    parser.add_argument("--no-debug-mode", action="store_true")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = {}
    print(f"{'':26}" + "".join(f"{way:>22}" for way in ("ulpscope", "digest only", "DebugMode")))
    for name, (make, repeat) in WORKLOADS.items():
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            times, found = measure(make, repeat, options.rounds, folder, not options.no_debug_mode)
        bare = times.pop("bare")
        line = f"{name:26}"
        results[name] = {"bare_ms": statistics.median(bare) * 1e3}
        for way in times:
            ratios = [t / b for t, b in zip(times[way], bare)]
            low, middle, high = quartiles(ratios)
            results[name][way] = {"median": middle, "low": low, "high": high}
            line += f"{middle:8.2f} ({low:.2f}-{high:.2f})".rjust(22)
        print(line + f"   bare {results[name]['bare_ms']:.2f} ms")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"threads": options.threads, "workloads": results}, file, indent=2)


if __name__ == "__main__":
    main()
