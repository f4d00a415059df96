"""Runs cells of the corpus in this process, for tools that watch a process: ``python sample.py BACKEND QUERY ...``."""

from __future__ import annotations

import sys

from vyre_conform.testing import cells, require


def main() -> None:
    name, *queries = sys.argv[1:]
    if name == "cuda":
        from vyre_driver import acquire

        backend = acquire(name)
    else:
        from cuda_emulation.rehearsal import rehearsed

        backend = rehearsed()
    specs = cells(*queries)
    for spec in specs:
        require(backend, spec, repeats=1)
    backend.shutdown()
    print(f"{len(specs)} cells")


if __name__ == "__main__":
    main()
