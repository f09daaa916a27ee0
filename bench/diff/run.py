"""What does a diff cost? Long traces made by repeating a real one, with a fault near the end.

    .venv/bin/python bench/diff/run.py [A.ulps B.ulps] [--sizes 10000,100000,1000000] [--folder DIR]

A and B are traces of two runs with the same ops, of which some differ; without them a training step
of GPT-2 is recorded twice, once with another value in one op (needs the target ulpscope_plant). Prints
wall and CPU seconds and the largest resident memory of `ulpscope diff`, where the fault is in the
last tenth of the run, in its first step, and in its first step with --first. ULPSCOPE and
ULPSCOPE_REPEAT name the programs, else the newest build's are taken.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import ulpscope

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program(variable, pattern):
    built = sorted(glob.glob(f"{ROOT}/build/*/{pattern}"), key=os.path.getmtime)
    path = os.environ.get(variable) or (built and built[-1])
    if not path:
        raise SystemExit(f"bench/diff: nothing at build/*/{pattern}; build it first, with -DULPSCOPE_BUILD_BENCH=ON")
    return path


def run(command, output=os.devnull):
    """(wall seconds, CPU seconds, largest resident memory in MiB, exit status)."""
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(out, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - begin
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


RECORD = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import faults
torch.set_num_threads(1)
faults.value("gpt2-training", "scaled", 3, sys.argv[2])
"""


def record(folder):
    # In a process of its own: a child's memory is counted from its parent's.
    subprocess.run([sys.executable, "-c", RECORD, f"{ROOT}/bench/accuracy", folder], check=True,
                   stderr=subprocess.DEVNULL)
    return f"{folder}/a.ulps", f"{folder}/b.ulps"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", nargs="*", metavar="TRACE")
    parser.add_argument("--sizes", default="10000,30000,100000,300000,1000000")
    parser.add_argument("--folder", help="where to write the long traces (default: a temporary one)")
    parser.add_argument("--times", type=int, default=3, help="the best of so many runs")
    options = parser.parse_args()
    diff, repeat = program("ULPSCOPE", "cli/ulpscope"), program("ULPSCOPE_REPEAT", "bench/diff/ulpscope_repeat_trace")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        a, b = options.traces or record(folder)
        print(f"{'ops':>10} {'fault in':>18} {'wall s':>8} {'cpu s':>8} {'MiB':>7}  first")
        for size in map(int, options.sizes.split(",")):
            long_a, late, early = (f"{folder}/{name}.ulps" for name in ("long-a", "late", "early"))
            answer = f"{folder}/answer.json"
            run([repeat, a, long_a, str(size)])
            trace = ulpscope.open(long_a)
            ops, step = len(trace), max(trace.steps)
            run([repeat, a, late, str(size), b, str(step * 95 // 100)])
            run([repeat, a, early, str(size), b, "0"])
            for what, other, more in (("the last tenth", late, []), ("the first steps", early, []),
                                      ("the same, --first", early, ["--first"])):
                tries = [run([diff, "diff", long_a, other, "--format=json", *more], answer)
                         for _ in range(options.times)]
                wall, cpu, memory, status = min(tries)
                with open(answer) as file:
                    first = json.load(file)["first"]
                named = f"{first['op']} in step {first['step']}" if first else "nothing"
                print(f"{ops:10,} {what:>18} {wall:8.2f} {cpu:8.2f} {memory:7.0f}  {named}")
                if status not in (1, 3):
                    raise SystemExit(f"bench/diff: status {status}")


if __name__ == "__main__":
    main()
