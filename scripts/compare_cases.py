#!/usr/bin/env python3
"""Times miniAMR and amrbench in turn over whole cases drawn at random: is there one where amrbench is slow?

usage: scripts/compare_cases.py --miniamr PROGRAM [--amrbench PROGRAM] [--draw N] [--seed S] [--repetitions N]

Drawn are the stencil, a block's edges and variables, the root grid, levels, one to four moving and growing objects of all
shapes, steps, stages, how often meshes are refined and sums checked, the balancing option, and options that only miniAMR
heeds; scripts/compare_shapes.py draws shapes alone. 2 ranks of one thread. A case counts if it has 2e7 cell updates
and more and miniAMR ends within 15 s; where it does not (status 124), or fails, a line says so. Each line of a case: seconds of both,
the ratio, where amrbench's time went. The worst cases follow with their options, as --miniamr of amrbench run takes them.
PROGRAM is a miniAMR executable built by you for this machine (github.com/Mantevo/miniAMR, folder ref).
Exit status: 0 done, 1 a run of amrbench failed, 2 bad input.
"""
import argparse
import math
import os
import random
import statistics
import sys

import compare_miniamr

EDGES = range(4, 26, 2)
MOST_VALUES = 2**16  # of a block
LEAST_UPDATES = 2e7
LONGEST_S = 15  # of miniAMR
SHAPES = 16  # miniAMR's object types
MOST_DRAWN = 20  # for each case that counts
PARTS = ("stencil", "communication", "checksum", "refinement")


def draw_object(rng):
    numbers = [rng.uniform(0, 1) for _ in range(3)] + [rng.uniform(-0.05, 0.05) for _ in range(3)]
    numbers += [rng.uniform(0.02, 0.4) for _ in range(3)] + [rng.choice((0, 0, 0.01, -0.005)) for _ in range(3)]
    return f"--object {rng.randrange(SHAPES)} {rng.randrange(2)} " + " ".join(f"{x:.4f}" for x in numbers)


def draw_case(rng):
    stencil = rng.choice((7, 27, 0))
    while True:
        edges = [rng.choice(EDGES)] * 3 if rng.random() < 0.6 else [rng.choice(EDGES) for _ in range(3)]
        variables = max(8 if stencil == 0 else 1, int(math.exp(rng.uniform(0, math.log(60)))))
        if math.prod(edges) * variables <= MOST_VALUES:
            break
    objects = rng.choice((1, 1, 2, 4))
    ranks = rng.choice((("2", "1", "1"), ("1", "2", "1"), ("1", "1", "2")))
    options = [("--stencil", stencil), ("--num_vars", variables), ("--num_refine", rng.randint(1, 5)),
               ("--num_tsteps", rng.choice((5, 10, 20, 40))), ("--stages_per_ts", rng.choice((1, 2, 5, 10, 20, 40))),
               ("--refine_freq", rng.choice((1, 2, 5, 10))), ("--checksum_freq", rng.choice((1, 2, 5, 10, 20))),
               ("--lb_opt", rng.randrange(3)), ("--comm_vars", rng.choice((0, 0, 1, max(1, variables // 2)))),
               ("--uniform_refine", rng.choice((0, 0, 0, 1)))]
    options += [(f"--n{axis}", edge) for axis, edge in zip("xyz", edges)]
    options += [(f"--np{axis}", count) for axis, count in zip("xyz", ranks)]
    options += [(f"--init_{axis}", rng.choice((1, 1, 2, 3))) for axis in "xyz"]
    if stencil == 27:  # across levels it balances no totals, and miniAMR would stop at its first checksum
        options.append(("--error_tol", 0))
    words = [f"{name} {value}" for name, value in options] + [rng.choice(("--rcb", "--morton", "--hilbert"))]
    words += [word for word in ("--send_faces", "--permute", "--refine_ghost") if rng.random() < 0.3]
    return " ".join(words + [f"--num_objects {objects}"] + [draw_object(rng) for _ in range(objects)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--miniamr", required=True)
    parser.add_argument("--amrbench", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/amrbench"))
    parser.add_argument("--draw", type=int, default=20, help="cases that count")
    parser.add_argument("--seed", type=int, help="of what is drawn; without it one is chosen and printed")
    parser.add_argument("--repetitions", type=int, default=1, help="of both programs in turn, after one run of each; the "
                        "shortest of each counts")
    arguments = parser.parse_args()
    if arguments.repetitions < 1 or arguments.draw < 1:
        compare_miniamr.fail(2, "--repetitions and --draw must be at least 1")
    for name in ("amrbench", "miniamr"):
        program = os.path.abspath(getattr(arguments, name))
        if not os.access(program, os.X_OK):
            compare_miniamr.fail(2, f"--{name}: '{program}' is no program that can be run")
        setattr(arguments, name, program)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10000)
    rng = random.Random(seed)
    print(f"2 ranks x 1 thread; {arguments.draw} cases of seed {seed}; seconds of miniAMR and amrbench, ratio, blocks, parts")
    results = []
    for _ in range(MOST_DRAWN * arguments.draw):
        if len(results) == arguments.draw:
            break
        options = draw_case(rng)
        try:  # first, since it stops where there are very many blocks
            theirs = [compare_miniamr.run_miniamr(arguments.miniamr, options, LONGEST_S)["total_s"]]
        except compare_miniamr.Failed as failed:
            print(f"left out: miniAMR {str(failed).partition('...')[2].partition(':')[0].strip()}", flush=True)
            continue
        first = compare_miniamr.run_amrbench(arguments.amrbench, options)
        if theirs[0] <= 0.0 or first["cell_updates"] < LEAST_UPDATES:
            continue  # too short to tell
        # As in compare_shapes.py: miniAMR touches its blocks before its time starts.
        ready = ("--set", f"device.preallocated_blocks={first['blocks_max']}")
        ours = []
        for _ in range(arguments.repetitions):
            ours.append(compare_miniamr.run_amrbench(arguments.amrbench, options, *ready))
            theirs.append(compare_miniamr.run_miniamr(arguments.miniamr, options)["total_s"])
        theirs, ours = min(theirs), min(ours, key=lambda run: run["total_s"])
        ratio = theirs / ours["total_s"]
        results.append((ratio, len(results), options))
        parts = " ".join(f"{part} {ours[part]:.3f}" for part in PARTS)
        print(f"{len(results) - 1:>3} {theirs:>7.2f} {ours['total_s']:>7.3f} {ratio:>5.1f} {first['blocks_max']:>6}  "
              f"{options.split(' --num_refine')[0]}; {parts}", flush=True)
    if not results:
        compare_miniamr.fail(1, f"none of {MOST_DRAWN * arguments.draw} cases counts: does miniAMR run?")
    results.sort()
    print(f"median {statistics.median(r[0] for r in results):.1f}, worst {results[0][0]:.1f}; the worst three:")
    for ratio, number, options in results[:3]:
        print(f"{ratio:.1f}, number {number}: {options}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
