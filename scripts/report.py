#!/usr/bin/python3
"""One self-contained HTML file that shows what records say; see studies/report.py and docs/reports.md."""
import os
import sys

if sys.version_info < (3, 11):
    print(f"report: Python 3.11 or later is needed, and this is {sys.version.split()[0]}", file=sys.stderr)
    sys.exit(2)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from studies.report import main  # noqa: E402, needs the path above

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
