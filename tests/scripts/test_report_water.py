"""Reports of runs with water: gauges as lines, maps as pictures, files that hold something else."""
import csv
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(pathlib.Path(__file__).parent)]
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
import report_sets  # noqa: E402
from report_pages import make  # noqa: E402
from studies import report_water  # noqa: E402

HEADER = "ncols {}\nnrows {}\nxllcorner 10\nyllcorner -20\ncellsize 5\nNODATA_value -9999\n"


def grid(columns, rows, value):
    return HEADER.format(columns, rows) + "".join(" ".join(str(value(x, y)) for x in range(columns)) + "\n"
                                                  for y in range(rows))


@pytest.fixture
def flood(tmp_path):
    folder = tmp_path / "flood"
    report_sets.write(folder / "run.json", report_sets.run_record({}, series=False))
    lines = ["time_s,gauge,x_m,y_m,depth_m,surface_m,velocity_x_m_s,velocity_y_m_s"]
    for time in range(0, 10000, 100):
        lines += [f"{time},mill,12,3,{time * 1e-4},2,0.3,0.4", f"{time},bridge,30,3,0.25,2,0,0"]
    (folder / "gauges.csv").write_text("\n".join(lines) + "\n")
    (folder / "bed.asc").write_text(grid(40, 20, lambda x, y: 0.1 * x + (y - 10) ** 2))
    (folder / "largest_depth.asc").write_text(grid(40, 20, lambda x, y: 0.05 * x if y < 10 and x > 0 else -9999))
    (folder / "arrival_time.asc").write_text(grid(40, 20, lambda x, y: 60 * x if y < 10 else -9999))
    return folder


def test_gauges_and_maps(tmp_path, flood):
    found = make(tmp_path, flood, files=True)
    assert found.titles() == ["Run: model", "Water", "Where the time goes", "Records"]
    texts = [figure["desc"] for figure in found.figures]
    assert "Water came to 48.8 % of the domain; largest depth at most 1.95 m." in texts[0]  # 39 columns of 40, half of rows
    assert "Water came to 50.0 % of the domain; arrival time at most 39 min." in texts[1]
    assert "gauge mill at most 0.99; gauge bridge at most 0.25 m." in texts[2]
    assert "gauge mill at most 0.5; gauge bridge at most 0 m/s." in texts[3]
    with open(next((tmp_path / "report_files").glob("*depths.csv")), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200 and rows[-1] == {"gauge": "bridge", "time_s": "9900.0", "depth_m": "0.25"}


def test_rasters_are_read_from_the_north(flood):
    raster = report_water.read_raster(flood / "arrival_time.asc")
    assert raster.box == (10, 210, -20, 80)
    assert raster.cells[0, 3] == 180 and raster.cells[19, 3] != raster.cells[19, 3]


@pytest.mark.parametrize("name, text", [("gauges.csv", "time_s,gauge\n1,a\n"), ("largest_depth.asc", "ncols 3\n1 2 3\n"),
                                        ("bed.asc", HEADER.format(3, 2) + "1 2 3\n")])
def test_other_files_are_named_and_the_rest_is_shown(tmp_path, flood, name, text):
    (flood / name).write_text(text)
    found = make(tmp_path, flood)
    assert found.titles()[:2] == ["Run: model", "Where the time goes"]
    assert "cannot be shown whole" in " ".join(found.shown)
