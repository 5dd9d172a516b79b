"""Every study of configs/studies expands, in all its forms, and the program takes each of its cases.

AMRBENCH_PROGRAM names the program; without one the cases are expanded only.
"""
import os
import subprocess

import pytest
from conftest import ROOT

from studies import cases, study
from studies.execute import Launcher
from studies.machine import Machine, find_program

STUDIES = sorted((ROOT / "configs" / "studies").glob("*.toml"))
MACHINE = Machine("here", "cpu", 2, (0, 1), ())


def forms(path):
    text = path.read_text()
    return [""] + [bounds for bounds in ("quick", "smoke") if f"\n[{bounds}]" in text]


def test_the_promised_ones_are_there():
    promised = "quick partitioners balancing block_size_x_variables miniamr weak strong gpu"
    assert {path.stem for path in STUDIES} >= set(promised.split())


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_expands_and_the_program_takes_its_cases(path):
    program = find_program(os.environ.get("AMRBENCH_PROGRAM", ""))
    listed = subprocess.run([program, "list"], capture_output=True, text=True).stdout if program else ""
    for bounds in forms(path):
        one = study.load(path, bounds=bounds)
        assert one.name == path.stem + (f"-{bounds}" if bounds else "") and one.title and one.question
        found = cases.expand(one, MACHINE.cores)
        assert len({case.label for case in found}) == len(found)
        if bounds:
            assert len(found) <= 12, "a short form is short"
        if program:
            # Of short forms the ends alone: what they change is in every case.
            Launcher(one, program, MACHINE, "none").identify([found[0], *found[1:][-1:]] if bounds else found)
            for case in found:
                for key in ("method", "policy", "partition"):
                    assert key not in case.settings or f"\n  {case.settings[key]} " in listed, case.label
