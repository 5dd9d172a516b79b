"""Reads traces of amrbench (docs/trace-format.md): which blocks a run split and merged, refinement by refinement.

    with open("run.trace", "rb") as file:
        trace = amrbench_trace.Trace(file)
        for refinement, blocks in trace.meshes():
            print(refinement.step, len(blocks))

Standard library only. As a program it prints a line a refinement: amrbench_trace.py FILE
"""

import dataclasses
import itertools
import json
import math
import struct
import sys
import zlib

MAGICS = (b"amrbench-trace 1\n", b"amrbench-trace 2\n")  # of the versions that are read
FRAME = struct.Struct("<cIII")
COST = struct.Struct("<d")
MOST_HEADER = 1 << 16
MOST_PAYLOAD = 1 << 29
MOST_BITS = 64  # of a number in a record
MOST_ROOTS = 1 << 24  # root blocks that are listed, one by one
MOST_LEVELS = 20
MOST_COST = 1e6


class TraceError(Exception):
    """The file is no trace, or damaged."""


@dataclasses.dataclass
class Pass:
    """Blocks that split, and parents that a family becomes: (level, (x, y, z)) each, in 2-D (level, (x, y))."""

    splits: list
    merges: list


@dataclasses.dataclass
class Refinement:
    step: int
    stages: int
    passes: list
    # What blocks cost before the passes and, where there are any, after them: (so many blocks, cost of each), blocks in order
    # of levels, then Morton codes. Empty: all cost 1.
    costs: list = dataclasses.field(default_factory=list)
    costs_after: list = dataclasses.field(default_factory=list)


def decode_morton(code, dim=3):
    """Coordinates of a Morton code, x in the lowest bit."""
    coord = [0] * dim
    bit = 0
    while code:
        for axis in range(dim):
            coord[axis] |= (code & 1) << bit
            code >>= 1
        bit += 1
    return tuple(coord)


class _Payload:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            if self.at >= len(self.data):
                raise TraceError("a record ends too early")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift >= MOST_BITS:
                raise TraceError("a number of more than 64 bits")

    def codes(self):
        count = self.number()
        if count > len(self.data) - self.at:
            raise TraceError("more blocks than the record has room for")
        code, codes = 0, []
        for _ in range(count):
            code += self.number()
            codes.append(code)
        return codes

    def costs(self):
        runs = []
        for _ in range(self.number()):
            blocks = self.number()
            if self.at + COST.size > len(self.data):
                raise TraceError("a record ends too early")
            cost, = COST.unpack_from(self.data, self.at)
            if not 0 <= cost <= MOST_COST:
                raise TraceError("a cost that is none")
            runs.append((blocks, cost))
            self.at += COST.size
        return runs


class Trace:
    """`header` is a dictionary: dim, root, max_level, block, variables, steps, name; halo, where raw cells travel; work, where
    there is artificial work."""

    def __init__(self, file):
        self._file = file
        magic = file.readline(len(MAGICS[0]))
        if magic not in MAGICS:
            raise TraceError("is no trace of these versions")
        self._has_costs = magic != MAGICS[0]
        self.header = _header(file.readline(MOST_HEADER))

    def _frame(self):
        head = self._file.read(FRAME.size)
        if len(head) < FRAME.size:
            raise TraceError("is cut off")
        kind, size, packed_size, crc = FRAME.unpack(head)
        packed = self._file.read(packed_size) if packed_size <= MOST_PAYLOAD else b""
        if len(packed) < packed_size or zlib.crc32(packed) != crc or size > MOST_PAYLOAD:
            raise TraceError("is damaged or cut off")
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(packed, size + 1)  # no more memory than the record says it takes
        except zlib.error as error:
            raise TraceError(f"is damaged: {error}") from None
        if len(data) != size or not unpack.eof:
            raise TraceError("a record has another size than it says")
        return kind, data

    def refinements(self):
        """Every refinement in turn; raises TraceError where the file ends too early."""
        while True:
            kind, data = self._frame()
            if kind == b"E":
                return
            payload = _Payload(data)
            refinement = Refinement(payload.number(), payload.number(), [])
            for _ in range(payload.number()):
                one = Pass([], [])
                for level in range(self.header["max_level"] + 1):
                    one.splits += [(level, decode_morton(code, self.header["dim"])) for code in payload.codes()]
                    one.merges += [(level, decode_morton(code, self.header["dim"])) for code in payload.codes()]
                refinement.passes.append(one)
            if self._has_costs:
                refinement.costs, refinement.costs_after = payload.costs(), payload.costs()
            yield refinement

    def meshes(self):
        """(refinement, set of blocks after it); the same set every time, changed in place."""
        root = self.header["root"]
        if math.prod(root) > MOST_ROOTS:
            raise TraceError(f"{math.prod(root)} root blocks are too many for this reader")
        blocks = {(0, coord) for coord in itertools.product(*map(range, root))}
        for refinement in self.refinements():
            for one in refinement.passes:
                for level, coord in one.splits:
                    if (level, coord) not in blocks:
                        raise TraceError("a block splits that is not there")
                    blocks.remove((level, coord))
                    blocks.update(_children(level, coord))
                for level, coord in one.merges:
                    if not blocks.issuperset(_children(level, coord)):
                        raise TraceError("blocks merge that are not there")
                    blocks.difference_update(_children(level, coord))
                    blocks.add((level, coord))
            yield refinement, blocks


def _header(line):
    """The header, of which this reader needs root and max_level."""
    try:
        header = json.loads(line)
        root, levels = header["root"], header["max_level"]
        dim = header.setdefault("dim", 3)
        fits = type(dim) is int and dim in (2, 3) and len(root) == dim and all(type(n) is int and 1 <= n <= 1 << MOST_LEVELS for n in root)
        if not fits or type(levels) is not int or not 0 <= levels <= MOST_LEVELS:
            raise ValueError("root or max_level")
        return header
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"its header is none: {error}") from None


def _children(level, coord):
    return [(level + 1, tuple(2 * c + (k >> axis & 1) for axis, c in enumerate(coord))) for k in range(1 << len(coord))]


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    try:
        with open(sys.argv[1], "rb") as file:
            trace = Trace(file)
            print(json.dumps(trace.header))
            for refinement, blocks in trace.meshes():
                print(f"step {refinement.step} stages {refinement.stages} passes {len(refinement.passes)} "
                      f"blocks {len(blocks)}")
    except (OSError, TraceError) as error:
        print(f"amrbench_trace.py: error: {sys.argv[1]}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
