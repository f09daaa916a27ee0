"""What a gate of 100,000 ops costs: its baseline's size and the time of a check beside the recording.

    python bench/gate/run.py [--program PATH/ulpscope] [--steps 110]
"""

import argparse
import gzip
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def timed(command: list[str]) -> tuple[float, float, str]:
    """Seconds of wall clock and of CPU, and what it printed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 2:
        sys.exit(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default="ulpscope")
    parser.add_argument("--steps", type=int, default=110)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        traces = {"same numbers": -1, "numbers differ": arguments.steps * 9 // 10}
        for name, fault in {"base": -1, **traces}.items():
            subprocess.run(
                [arguments.program, "record", "-q", "-o", folder / f"{name}.ulps", "--", sys.executable,
                 HERE / "program.py", str(fault), str(arguments.steps)], check=True)  # fmt: skip
        gate = [arguments.program, "gate"]
        wall, cpu, output = timed([*gate, "record", "--dir", folder / "gate", "--trace", folder / "base.ulps"])
        ops = int(output.split(": ")[1].split(" ops")[0].replace(",", ""))
        text = next((folder / "gate").glob("*.baseline")).read_bytes()
        print(f"{ops:,} ops; baseline {len(text) / ops:.1f} bytes an op, gzip -9 {len(gzip.compress(text, 9)) / ops:.1f}")
        for name in traces:
            best = min(
                timed([*gate, "check", "--dir", folder / "gate", "--trace", folder / f"{name}.ulps"])[:2]
                for _ in range(5)
            )
            print(f"check, {name}: {best[0]:.2f} s, {best[1]:.2f} s of CPU")


if __name__ == "__main__":
    main()
