"""How often is the right op named? Plants faults, diffs the two traces, scores the answer.

    .venv/bin/python bench/accuracy/run.py [--pairs 2000] [--seed 0] [--kind KIND]
    .venv/bin/python bench/accuracy/run.py --corpus DIR ...    keeps all traces, and uses them again

For each kind of fault it prints the share of pairs whose verdict, first op and frontier are right,
how often an op is named that has nothing to do with the fault, and at the end the calibration of
the confidence: of answers given at p, how many are right.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import traceback
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch

import faults
import programs


def diff(folder):
    tool = os.environ.get("ULPSCOPE") or os.path.join(os.path.dirname(sys.executable), "ulpscope")
    command = [tool, "diff",
               f"{folder}/a.ulps", f"{folder}/b.ulps", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3, 4):
        raise RuntimeError(f"diff: status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def prepare(kind, name, seed, folder):
    """The truth of one pair of traces, which are in `folder` afterwards; None where there is none."""
    path = f"{folder}/truth.json"
    if os.path.exists(path):
        with open(path) as file:
            kept = json.load(file)
        return kept and faults.Truth(**{k: tuple(v) if k in ("verdicts", "labels") else v for k, v in kept.items()})
    os.makedirs(folder, exist_ok=True)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            truth = faults.KINDS[kind](name, kind, seed, folder)
    except faults.NoPlace:
        truth = None
    with open(path, "w") as file:
        json.dump(truth and vars(truth), file)
    return truth


def _hits(origin, a, b):
    """Is this origin one of the ops to blame?"""
    return any(side and side["id"] in ids for side, ids in ((origin["a"], a), (origin["b"], b)))


def _unrelated(origin, truth):
    """Does this origin have nothing to do with the fault? A change of the program's code or settings
    shows at more than one op (in each step, in the backward, at each parameter), always as other
    structure or other data; it never makes an op compute something else from the same inputs."""
    if _hits(origin, truth.a + truth.also, truth.b + truth.also):
        return False
    return origin["label"] == "origin" or truth.verdicts == ("numeric",) and origin["label"] not in truth.labels


def score(truth, answer):
    """Four booleans: verdict right, first right, frontier complete, nothing unrelated named."""
    first, frontier = answer["first"], answer["frontier"]
    if not truth.changed:
        quiet = answer["verdict"] in ("identical",) + (truth.verdicts if truth.kind not in faults.EQUAL else ())
        return {"verdict": quiet, "first": first is None, "frontier": not frontier, "clean": not frontier}
    if "identical" in truth.verdicts and answer["verdict"] == "identical":
        return {"verdict": True, "first": first is None, "frontier": not frontier, "clean": not frontier}
    groups = truth.groups or [truth.a + truth.b]
    return {
        "verdict": answer["verdict"] in truth.verdicts,
        "first": first is not None and _hits(first, truth.a, truth.b) and first["label"] in truth.labels,
        "frontier": all(any(_hits(o, g, g) for o in frontier) for g in groups),
        "clean": not any(_unrelated(o, truth) for o in frontier),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=list(faults.KINDS))
    parser.add_argument("--corpus", help="folder of all traces: recorded where missing, else compared again")
    parser.add_argument("--json", help="file for every truth and score")
    options = parser.parse_args()
    torch.set_num_threads(1)

    kinds = options.kind or list(faults.KINDS)
    table = collections.defaultdict(list)
    calibration = collections.defaultdict(list)
    equal_ops = 0
    rows = []
    made = seed = 0
    while made < options.pairs:
        seed += 1
        kind = kinds[seed % len(kinds)]
        rng = random.Random(options.seed * 1_000_003 + seed)
        name = rng.choice(programs.NAMES)
        with contextlib.ExitStack() as stack:
            if options.corpus:
                folder = os.path.join(options.corpus, f"{options.seed}-{seed}-{kind.replace(' ', '_')}")
            else:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
            try:
                truth = prepare(kind, name, rng.randrange(1 << 30), folder)
                if truth is None:  # this program has no place for this fault
                    continue
                answer = diff(folder)
                result = score(truth, answer)
            except Exception:
                traceback.print_exc()
                truth, answer = faults.Truth(kind, name), {"first": None, "verdict": "error"}
                result = dict.fromkeys(("verdict", "first", "frontier", "clean"), False)
            made += 1
            if kind in faults.EQUAL:
                equal_ops += answer["a"]["ops"] if "a" in answer else 0
            truth.answer = answer["verdict"]
            table[kind].append((truth, result))
            if truth.changed and answer["first"]:
                calibration[min(9, int(answer["first"]["confidence"] * 10))].append(result["first"])
            rows.append({"pair": made, "folder": folder, "truth": dict(vars(truth)), "score": result,
                         "answer": {k: answer.get(k) for k in ("verdict", "first", "frontier")}})
            if sys.stderr.isatty():
                print(f"\r{made}/{options.pairs}", end="", file=sys.stderr)

    print(f"{'kind':26}{'pairs':>6}{'changed':>9}{'verdict':>9}{'first':>9}{'frontier':>9}{'clean':>9}")
    total = collections.Counter()
    for kind in kinds:
        done = table[kind]
        if not done:
            continue
        share = {k: 100 * sum(r[k] for _, r in done) / len(done) for k in ("verdict", "first", "frontier", "clean")}
        print(f"{kind:26}{len(done):6}{sum(t.changed for t, _ in done):9}"
              + "".join(f"{share[k]:8.1f}%" for k in share))
        for truth, result in done:
            single = kind not in faults.EQUAL and len(truth.groups) < 2
            if truth.changed and single:
                total["single"] += 1
                total["single right"] += result["first"]
            elif truth.changed:
                total["double"] += 1
                total["double right"] += result["frontier"]
            if kind in faults.EQUAL:
                total["false alarms"] += not result["verdict"]
            total["unrelated"] += not result["clean"]
            total["as numeric"] += truth.verdicts == ("structural",) and truth.answer == "numeric"
    print(f"\nsingle faults that change a bit: first right in {total['single right']} of {total['single']}")
    print(f"double faults: both on the frontier in {total['double right']} of {total['double']}")
    print(f"equal runs: {total['false alarms']} false alarms in {equal_ops} ops")
    print(f"structural faults reported as numeric: {total['as numeric']}")
    print(f"an unrelated op on the frontier: {total['unrelated']} of {made} pairs")
    print("\nconfidence   answers   right")
    for bucket in sorted(calibration):
        right = calibration[bucket]
        print(f"{bucket / 10:.1f} - {(bucket + 1) / 10:.1f}  {len(right):8}  {100 * sum(right) / len(right):6.1f}%")
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out)


if __name__ == "__main__":
    main()
