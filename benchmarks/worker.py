"""The process of one peer: `worker.py SUITE PEER`, orders on the standard input, answers on the standard output."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from harness import serve

if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    serve(import_module(f"suites.{sys.argv[1]}"), sys.argv[2], sys.stdin, answers)
