#!/usr/bin/env python3
"""Heat maps of what bench/shapes has printed: share of the copy bandwidth by edge and number of variables.

usage: bench/shape_map.py RECORD -o FILE.png [--title TEXT]

RECORD is the output of bench/shapes, best with --map; of several programs the last column is drawn. One map a stencil, in the order
of the record. Exit status: 0 done, 1 the picture could not be written, 2 bad input.
"""
import argparse
import importlib.util
import os
import re
import sys

ROW = re.compile(r"^\s*(\d+)\^3 x (\d+)\s+\d+\s+[\d.]+\s+(?:[\d.]+\s+)*([\d.]+)$")
NAMES = {"average7": "7 points", "average27": "27 points", "mixed": "mixed"}


def fail(status, text):
    print(f"shape_map: {text}", file=sys.stderr)
    sys.exit(status)


def read(lines):
    """{stencil: {(edge, variables): share}}"""
    maps, stencil = {}, None
    for line in lines:
        row = ROW.match(line)
        if line.strip() in NAMES:
            stencil = line.strip()
        elif row and stencil:
            maps.setdefault(stencil, {})[int(row[1]), int(row[2])] = float(row[3])
    return maps


def draw(maps, path, title=""):
    """Needs matplotlib (scripts/install-packages studies). Raises ImportError, OSError, ValueError."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(maps), figsize=(5.2 * len(maps), 5.4), squeeze=False, layout="constrained")
    for axis, (stencil, shares) in zip(axes[0], maps.items()):
        edges, variables = (sorted({shape[k] for shape in shares}) for k in (0, 1))
        grid = [[shares.get((e, v), float("nan")) for v in variables] for e in edges]
        image = axis.imshow(grid, vmin=0, vmax=1, cmap="viridis", aspect="auto")
        for (e, v), share in shares.items():
            axis.text(variables.index(v), edges.index(e), f"{share:.2f}", ha="center", va="center", fontsize=8,
                      color="black" if share > 0.6 else "white")
        axis.set(title=NAMES[stencil], xlabel="variables", ylabel="cells along an edge", xticks=range(len(variables)),
                 yticks=range(len(edges)), xticklabels=variables, yticklabels=edges)
    figure.colorbar(image, ax=axes[0], label="share of the copy bandwidth", shrink=0.8)
    figure.suptitle(title)
    figure.savefig(path, dpi=100)


def check(path):
    """Ends the program where no picture could be drawn there."""
    if importlib.util.find_spec("matplotlib") is None:
        fail(1, "matplotlib is missing, which draws the picture; scripts/install-packages studies brings it")
    if not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        fail(2, f"{path} could not be written: its folder is not there, or not to be written to")


def draw_or_fail(maps, path, title=""):
    check(path)
    try:
        draw(maps, path, title)
    except (OSError, ValueError) as error:
        fail(1, f"{path} could not be written: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record")
    parser.add_argument("-o", "--output", required=True, help="the picture, e.g. shapes.png")
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    try:
        with open(arguments.record, encoding="utf-8") as file:
            maps = read(file)
    except (OSError, UnicodeDecodeError) as error:
        fail(2, f"{arguments.record} cannot be read: {error}")
    if not maps:
        fail(2, f"{arguments.record} has no table of bench/shapes")
    draw_or_fail(maps, arguments.output, arguments.title)


if __name__ == "__main__":
    main()
