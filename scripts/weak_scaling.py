#!/usr/bin/env python3
"""Weak scaling of a configuration or study; docs/studies.md."""
import sys
from pathlib import Path

if sys.version_info < (3, 11):
    print("weak_scaling: Python 3.11 or later is needed, and this is", sys.version.split()[0], file=sys.stderr)
    sys.exit(2)
sys.path.insert(0, str(Path(__file__).resolve().parent))
from studies.scaling import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main("weak", sys.argv[1:]))
