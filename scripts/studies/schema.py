"""Validates records against docs/schema (JSON Schema, draft 2020-12): stricter than reading them needs (records.py).

usage: PYTHONPATH=scripts /usr/bin/python3 -m studies.schema FILE...
Prints one line a file or error. Exit status: 0 all as described, 2 some not.
"""
import functools
import json
import pathlib
import sys
from typing import Any

import jsonschema

from studies import records

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/schema"


@functools.cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """The validator of one kind; references between the files of docs/schema are resolved there."""
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    base = FOLDER.as_uri() + "/"
    schema = schemas[f"{kind}.json"]
    store = {base + name: one for name, one in schemas.items()}
    resolver = jsonschema.RefResolver(base + f"{kind}.json", schema, store)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def errors(kind: str, data: Any) -> list[str]:
    """What in a record of this kind is not as described, a line each: place and reason."""
    found = sorted(validator(kind).iter_errors(data), key=lambda error: list(map(str, error.absolute_path)))
    return [f"{'.'.join(map(str, error.absolute_path)) or 'record'}: {error.message[:200]}" for error in found]


def main(paths: list[str]) -> int:
    status = 0
    for path in paths:
        try:
            record = records.read_record(path)
            lines = errors(record.kind, record.data) or [f"{record.kind}, as described"]
            status = status if lines[0].endswith("as described") else 2
        except records.RecordError as error:
            lines, status = [error.reason], 2
        print("\n".join(f"{path}: {line}" for line in lines))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
