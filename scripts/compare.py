#!/usr/bin/python3
"""Compares two result sets; see docs/comparing.md and --help."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    from studies import compare
except ImportError as error:
    print(f"compare: {error}; scripts/install-packages studies installs what is missing", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(compare.main())
