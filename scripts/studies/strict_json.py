"""JSON as RFC 8259 has it: whole, finite, UTF-8, every name once. Python's own reader takes more."""
import json
import math
from typing import Any


def parse(data: bytes) -> Any:
    """The value in a file's bytes. ValueError with one line that says why there is none."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not JSON: bytes that are not UTF-8") from None
    if not text.strip():
        raise ValueError("empty")
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        # A file cut off in the middle fails at its very end, or in a string that never closes.
        cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")
        raise ValueError(f"{'cut off' if cut else 'not JSON'}: line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise ValueError("not JSON that can be read: nested too deep") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that JSON has")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} stands twice in one object")
    return table
