#!/usr/bin/env python3
"""Reads the VTK files of `amrbench partition` with VTK's own reader, which is ParaView's.

usage: check_vtk.py AMRBENCH

Exit status 0: all as expected; 1: not; 77: vtk cannot be imported, nothing was checked.
"""
import os
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader
except ImportError as error:
    print(f"SKIPPED: the check needs vtk (pip install vtk): {error}")
    sys.exit(SKIPPED)


def require(condition, message):
    """Unlike assert, not switched off by -O."""
    if not condition:
        sys.exit(f"FAILED: {message}")


def write(program, folder, text, draw):
    path, parts = os.path.join(folder, "out.vtk"), os.path.join(folder, "parts")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="2")
    subprocess.run([program, "partition", "--input", text, "--method", "linear", "--parts", "7", "--vtk", path,
                    "--parts-file", parts, "--draw", draw, "--force"], check=True, env=environment, stdout=subprocess.DEVNULL)
    reader = vtkGenericDataObjectReader()
    reader.SetFileName(path)
    reader.Update()
    require(reader.GetErrorCode() == 0, f"{text}: the reader reports error {reader.GetErrorCode()}")
    with open(parts, encoding="utf-8") as file:
        return reader.GetOutput(), [int(line) for line in file]


def check_scalars(data, parts, what):
    part, position = data.GetArray("part"), data.GetArray("position")
    require(part is not None and position is not None, f"{what}: no part or no position")
    require([int(part.GetValue(i)) for i in range(part.GetNumberOfTuples())] == parts, f"{what}: other parts")
    # The method `linear` keeps the order of the numbers.
    require([int(position.GetValue(i)) for i in range(len(parts))] == list(range(len(parts))), f"{what}: other positions")


def main(program):
    with tempfile.TemporaryDirectory(prefix="amrbench-vtk-") as folder:
        for text, extent in (("grid:6x5x4:7", (6, 5, 4)), ("grid:9x4:5", (9, 4, 0))):
            grid, parts = write(program, folder, text, "parts")
            require(grid.GetClassName() == "vtkStructuredPoints", f"{text}: read as {grid.GetClassName()}")
            require(grid.GetNumberOfCells() == len(parts), f"{text}: {grid.GetNumberOfCells()} cells")
            require(grid.GetBounds() == (0, extent[0], 0, extent[1], 0, extent[2]), f"{text}: bounds {grid.GetBounds()}")
            check_scalars(grid.GetCellData(), parts, text)
        for text in ("uniform:50:3:4", "cluster:50:2:4", "grid:5x4:9"):
            for draw in ("parts", "curve") if not text.startswith("grid") else ("curve",):
                cloud, parts = write(program, folder, text, draw)
                what = f"{text}, {draw}"
                require(cloud.GetClassName() == "vtkPolyData", f"{what}: read as {cloud.GetClassName()}")
                require(cloud.GetNumberOfPoints() == len(parts), f"{what}: {cloud.GetNumberOfPoints()} points")
                require((cloud.GetNumberOfLines(), cloud.GetNumberOfVerts()) == ((1, 0) if draw == "curve" else (0, len(parts))),
                        f"{what}: {cloud.GetNumberOfLines()} lines and {cloud.GetNumberOfVerts()} vertices")
                require(draw == "parts" or cloud.GetCell(0).GetNumberOfPoints() == len(parts), f"{what}: a short line")
                check_scalars(cloud.GetPointData(), parts, what)
            if text == "grid:5x4:9":
                require(cloud.GetPoint(6) == (1.5, 1.5, 0.0), f"{text}: point 6 at {cloud.GetPoint(6)}")
    print("PASSED")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
