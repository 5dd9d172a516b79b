"""Damaged files: cut off or changed in single bytes, records and traces are read or refused in one line, never otherwise."""
import io
import json
import pathlib
import sys
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import amrbench_trace  # noqa: E402
from studies import records  # noqa: E402

RECORD = max((ROOT / "results/reference").rglob("one_sphere*.json")).read_bytes()
TRACES = sorted((ROOT / "tests/fuzz/corpus/trace").iterdir())
QUIET = [HealthCheck.function_scoped_fixture]


def refinements(data):
    """Of a trace, each with the number of blocks after it."""
    return [(one.step, len(blocks)) for one, blocks in amrbench_trace.Trace(io.BytesIO(data)).meshes()]


def frame(kind, payload, size=None):
    packed = zlib.compress(payload)
    return amrbench_trace.FRAME.pack(kind, len(payload) if size is None else size, len(packed), zlib.crc32(packed)) + packed


def trace(*frames, root=(1, 1, 1), version=1):
    header = {"root": list(root), "max_level": 1, "block": [2] * len(root), "variables": 1, "steps": 1, "name": "x"}
    if version > 1:
        header["dim"] = len(root)
    return amrbench_trace.MAGICS[version - 1] + json.dumps(header).encode() + b"\n" + b"".join(frames)


@st.composite
def damaged(draw, data):
    """Cut off, or up to four bytes changed."""
    if draw(st.booleans()):
        return data[:draw(st.integers(0, len(data) - 1))]
    changed = bytearray(data)
    for at in draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=4)):
        changed[at] ^= draw(st.integers(1, 255))
    return bytes(changed)


@settings(max_examples=100, suppress_health_check=QUIET)
@given(data=damaged(RECORD))
def test_damaged_records(data, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(data)
    try:
        records.flatten(records.read_record(path))
    except records.RecordError as error:
        assert "\n" not in str(error) and str(path) in str(error)


@settings(max_examples=200)
@given(st.sampled_from(TRACES).flatmap(lambda path: damaged(path.read_bytes())))
def test_damaged_traces(data):
    try:
        refinements(data)
    except amrbench_trace.TraceError as error:
        assert "\n" not in str(error)


@settings(max_examples=200)
@given(st.binary(max_size=40), st.sampled_from([1, 2]))
def test_whatever_a_sound_frame_holds(payload, version):
    try:
        refinements(trace(frame(b"R", payload), frame(b"E", b"\0\0"), version=version))
    except amrbench_trace.TraceError as error:
        assert "\n" not in str(error)


def test_a_sound_trace_is_read():
    split = bytes([0, 0, 1, 1, 0, 0, 0, 0])  # step, stages, passes; level 0: one splits; nothing else
    assert refinements(trace(frame(b"R", split), frame(b"E", b"\0\0"))) == [(0, 8)]


def cost(value):
    return amrbench_trace.COST.pack(value)


def test_costs_of_a_flat_mesh_are_read():
    split = bytes([0, 0, 1, 1, 0, 0, 0, 0])
    data = trace(frame(b"R", split + b"\0" + b"\2\1" + cost(0.25) + b"\3" + cost(1.0)), frame(b"E", b"\0\0"), root=(1, 1), version=2)
    (one, blocks), = amrbench_trace.Trace(io.BytesIO(data)).meshes()
    assert sorted(blocks) == [(1, (0, 0)), (1, (0, 1)), (1, (1, 0)), (1, (1, 1))]
    assert (one.costs, one.costs_after) == ([], [(1, 0.25), (3, 1.0)])


@pytest.mark.parametrize("data, said", [
    (trace(frame(b"R", bytes([0, 0, 0, 1, 1]) + cost(-1.0) + b"\0"), version=2), "cost that is none"),
    (trace(frame(b"R", bytes([0, 0, 0, 1, 1, 0])), version=2), "ends too early"),
    (trace(version=1, root=(1, 1)), "its header is none"),
    (trace(frame(b"R", b"\0" * 4096, size=8)), "another size"),
    (trace(frame(b"R", b"\xff" * 64)), "64 bits"),
    (trace(frame(b"E", b""), root=(1024, 1024, 1024)), "too many"),
    (trace(frame(b"E", b""), root=(0, 1, 1)), "its header is none"),
    (trace(frame(b"R", bytes([0, 0, 1, 0, 1, 0, 0, 0]))), "merge that are not there"),
    (trace(frame(b"R", bytes([0, 0, 1, 1, 7, 0, 0, 0]))), "splits that is not there"),
])
def test_what_is_wrong_is_said(data, said):
    with pytest.raises(amrbench_trace.TraceError, match=said):
        refinements(data)
