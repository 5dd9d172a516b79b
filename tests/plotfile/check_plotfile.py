#!/usr/bin/env python3
"""Reads a plotfile with yt, a reader that is not ours, and compares it with what the program says it wrote.

usage: check_plotfile.py WRITE_SAMPLE CONFIG.toml RANKS MPIEXEC

Exit status 0: all as expected; 1: not; 77: yt cannot be imported, nothing was checked.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    import numpy as np
    import yt
except ImportError as error:
    print(f"SKIPPED: the check needs yt (pip install yt): {error}")
    sys.exit(SKIPPED)


def require(condition, message):
    """Unlike assert, not switched off by -O."""
    if not condition:
        sys.exit(f"FAILED: {message}")


def write_sample(program, config, ranks, mpiexec, folder):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
    subprocess.run([mpiexec, "-n", ranks, "--oversubscribe", "--bind-to", "none", program, config, folder],
                   env=environment, check=True)
    plotfiles = [name for name in os.listdir(folder) if name != "expected.json"]
    require(len(plotfiles) == 1 and plotfiles[0].startswith("plt"), f"found {plotfiles}, not one plotfile")
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return os.path.join(folder, plotfiles[0]), json.load(file)


def family(leaves):
    """All ancestors of the leaves, the leaves included: the set of (level, x, y, z)."""
    blocks = set()
    for leaf in leaves:
        level, coord = leaf["level"], tuple(leaf["coord"])
        while level >= 0 and (level, *coord) not in blocks:
            blocks.add((level, *coord))
            level, coord = level - 1, tuple(c // 2 for c in coord)
    return blocks


def grid_places(ds, expected):
    """Maps (level, x, y, z) in blocks to yt's grid; grids must lie on the block raster."""
    block, root = np.array(expected["block"]), np.array(expected["root"])
    places = {}
    for grid in ds.index.grids:
        require((grid.ActiveDimensions == block).all(), f"{grid}: shape {grid.ActiveDimensions}")
        corner = grid.LeftEdge.d * root * 2**grid.Level
        coord = np.rint(corner).astype(int)
        require(np.abs(corner - coord).max() < 1e-9, f"{grid}: starts at {corner} blocks")
        require((coord * block == grid.get_global_startindex()).all(), f"{grid}: index and place disagree")
        places[(int(grid.Level), *map(int, coord))] = grid
    require(len(places) == len(ds.index.grids), "two grids at one place")
    return places


def check_leaves(places, expected):
    """Every leaf is a grid with the value sampled from it, its owner's rank and its place there."""
    leaves = set()
    for leaf in expected["leaves"]:
        place = (leaf["level"], *leaf["coord"])
        leaves.add(place)
        require(place in places, f"no grid for leaf {place}")
        grid, cell = places[place], tuple(leaf["cell"])
        value = float(grid["boxlib", f"var{leaf['variable']:03}"][cell])
        require(value == float(leaf["value"]), f"leaf {place}, cell {cell}: {value}, not {leaf['value']}")
        for name in ("rank", "block"):
            stored = grid["boxlib", name].d
            require((stored == leaf[name]).all(), f"leaf {place}: {name} {stored.flat[0]}, not {leaf[name]}")
    return leaves


def check_ancestors(places, leaves, variables):
    """Every other grid holds the sums of its children's cells, is marked, and is wholly covered."""
    for place, grid in places.items():
        if place in leaves:
            require(grid.child_mask.all(), f"leaf {place} is covered by something finer")
            continue
        require(not grid.child_mask.any(), f"ancestor {place} is seen in places")
        require((grid["boxlib", "block"].d == -1).all(), f"ancestor {place} is not marked")
        level, *coord = place
        half = grid.ActiveDimensions // 2
        for octant in np.ndindex(2, 2, 2):
            child = places[(level + 1, *(2 * c + o for c, o in zip(coord, octant)))]
            where = tuple(slice(o * h, (o + 1) * h) for o, h in zip(octant, half))
            for v in range(variables):
                fine = child["boxlib", f"var{v:03}"].d
                sums = fine.reshape(half[0], 2, half[1], 2, half[2], 2).sum(axis=(1, 3, 5))
                coarse = grid["boxlib", f"var{v:03}"].d[where]
                require(np.allclose(coarse, sums, rtol=1e-14, atol=0), f"ancestor {place}, var{v:03}: not the sum")


def check_totals(ds, expected):
    """Over the finest data: the whole domain once, and the exact statistics of each variable."""
    data = ds.all_data()
    require(abs(float(data["boxlib", "cell_volume"].sum()) - 1.0) < 1e-12, "the cells do not fill the unit cube")
    cells = len(expected["leaves"]) * math.prod(expected["block"])
    require(data["boxlib", "rank"].size == cells, f"{data['boxlib', 'rank'].size} cells, not {cells}")
    for v, field in enumerate(expected["fields"]):
        values = data["boxlib", f"var{v:03}"].d
        # fsum is exact before its one rounding, as our sums are.
        found = {"sum": math.fsum(values), "squares": math.fsum(values * values), "min": values.min(),
                 "max": values.max()}
        for name, value in found.items():
            require(value == float(field[name]), f"var{v:03}: {name} {value!r}, not {field[name]}")


def check(plotfile, expected):
    ds = yt.load(plotfile)
    names = [f"var{v:03}" for v in range(expected["variables"])] + ["block", "rank"]
    require(sorted(name for _, name in ds.field_list) == sorted(names), f"fields {ds.field_list}")
    require(float(ds.current_time) == expected["time"], f"time {ds.current_time}, not {expected['time']}")
    require((ds.domain_left_edge.d == 0).all() and (ds.domain_right_edge.d == 1).all(), "not the unit cube")
    cells = [r * b for r, b in zip(expected["root"], expected["block"])]
    require(list(ds.domain_dimensions) == cells, f"{ds.domain_dimensions} cells on level 0, not {cells}")
    places = grid_places(ds, expected)
    missing = family(expected["leaves"]) ^ set(places)
    require(not missing, f"grids that are not blocks or the other way round: {sorted(missing)[:5]}")
    leaves = check_leaves(places, expected)
    check_ancestors(places, leaves, expected["variables"])
    check_totals(ds, expected)
    levels = [sum(place[0] == level for place in leaves) for level in range(ds.index.max_level + 1)]
    require(min(levels[1:]) > 0, f"the sample is too plain: leaves by level {levels}")
    print(f"yt {yt.__version__}: {len(places)} grids, leaves by level {levels}, {expected['variables']} variables: PASSED")


def main():
    yt.set_log_level("error")
    program, config, ranks, mpiexec = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        check(*write_sample(program, config, ranks, mpiexec, folder))


if __name__ == "__main__":
    main()
