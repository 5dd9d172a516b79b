#!/usr/bin/env python3
"""Times miniAMR and amrbench in turn over shapes of blocks: how many times as fast, by edge and number of variables?

usage: scripts/compare_shapes.py --miniamr PROGRAM [--amrbench PROGRAM] [--stencil 7|27|0]
                                 [--draw N --seed S | --shapes 8x10,4x8x16x5]

The case: 2 ranks of one thread, 2 root blocks, a sphere's surface that moves, refined 3 levels around it; 10 time steps, a
refinement every 5, checksums every 5 stages, as many stages a step as make about --updates. Shapes are drawn as bench/shapes
draws them; blocks of more than 2^17 values are drawn anew, for their memory. Stencil 0 is miniAMR's mixed work, from 8 variables
on. PROGRAM is a miniAMR executable built by you for this machine (github.com/Mantevo/miniAMR, folder ref).
Share: of the copy bandwidth, which amrbench reaches over the whole run. Copy: the ratio that it would have at a share of 1.
Exit status: 0 done, 1 a run failed, 2 bad input.
"""
import argparse
import importlib.machinery
import importlib.util
import math
import os
import random
import statistics
import sys

import compare_miniamr

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_VALUES = 2**17
BLOCKS = 500  # about so many: for the number of stages
# miniAMR allocates its blocks, and so touches their memory, before its time starts.
READY = ("--set", "device.preallocated_blocks=500")
NAMES = {"7": "average7", "27": "average27", "0": "mixed"}


def load_shapes():
    loader = importlib.machinery.SourceFileLoader("shapes", os.path.join(HERE, "../bench/shapes"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("shapes", loader))
    loader.exec_module(module)
    return module


def options_of(edges, variables, stencil, updates):
    stages = max(2, min(100, round(updates / (10 * BLOCKS * math.prod(edges) * variables))))
    # Across levels 27 points balance no totals, and miniAMR would stop at its first checksum.
    tolerance = " --error_tol 0" if stencil == "27" else ""
    return (f"--num_refine 3 --num_vars {variables} --num_tsteps 10 --stages_per_ts {stages} --refine_freq 5 --checksum_freq 5 "
            f"--num_objects 1 --object 2 0 0.45 0.45 0.45 0.01 0.01 0.01 0.3 0.3 0.3 0 0 0 --stencil {stencil} "
            f"--npx 2 --npy 1 --npz 1 --nx {edges[0]} --ny {edges[1]} --nz {edges[2]}{tolerance}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--miniamr", required=True)
    parser.add_argument("--amrbench", default=os.path.join(HERE, "../build/release/amrbench"))
    parser.add_argument("--stencil", choices=NAMES, default="7")
    parser.add_argument("--draw", type=int, default=8)
    parser.add_argument("--seed", type=int, help="of what is drawn; without it one is chosen and printed")
    parser.add_argument("--shapes", help="edge x variables, with commas; instead of drawn ones")
    parser.add_argument("--updates", type=float, default=1.5e8, help="cell updates of a run, about")
    parser.add_argument("--repetitions", type=int, default=1, help="of both programs in turn; the shortest run of each counts")
    arguments = parser.parse_args()
    if arguments.repetitions < 1 or arguments.draw < 1:
        compare_miniamr.fail(2, "--repetitions and --draw must be at least 1")
    for name in ("amrbench", "miniamr"):
        if not os.access(getattr(arguments, name), os.X_OK):
            compare_miniamr.fail(2, f"--{name}: '{getattr(arguments, name)}' is no program that can be run")
    shapes = load_shapes()
    stencil = NAMES[arguments.stencil]
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10000)
    if arguments.shapes:
        chosen = shapes.listed(arguments.shapes, stencil)
    else:
        chosen = [s for s in shapes.drawn(20 * arguments.draw, seed, stencil) if s[0]**3 * s[1] <= MOST_VALUES][:arguments.draw]
    print(f"{shapes.processor()}; 2 ranks x 1 threads; {stencil}; "
          + (f"shapes {arguments.shapes}" if arguments.shapes else f"{arguments.draw} shapes of seed {seed}"))
    print(f"{'shape':>10} {'miniAMR s':>10} {'amrbench s':>11} {'ratio':>6} {'share':>6} {'copy':>6}", flush=True)
    ratios, bounds = [], []
    for shape in sorted(chosen, key=lambda shape: (shapes.edges(shape), shape[1])):
        options = options_of(shapes.edges(shape), shape[1], arguments.stencil, arguments.updates)
        theirs, ours = [], []
        for _ in range(arguments.repetitions):
            theirs.append(compare_miniamr.run_miniamr(os.path.abspath(arguments.miniamr), options)["total_s"])
            ours.append(compare_miniamr.run_amrbench(os.path.abspath(arguments.amrbench), options, *READY))
        theirs, ours = min(theirs), min(ours, key=lambda run: run["total_s"])
        if theirs <= 0.0:
            compare_miniamr.fail(1, f"miniAMR stopped early: {options}")
        share = ours["roofline_fraction"]
        ratios.append(theirs / ours["total_s"])
        bounds.append(ratios[-1] / share)
        print(f"{shapes.name(shape):>10} {theirs:>10.2f} {ours['total_s']:>11.3f} {ratios[-1]:>6.1f} {share:>6.2f} "
              f"{bounds[-1]:>6.1f}", flush=True)
    print(f"median {statistics.median(ratios):.1f}, worst {min(ratios):.1f}; at the copy bandwidth "
          f"{statistics.median(bounds):.1f} and {min(bounds):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
