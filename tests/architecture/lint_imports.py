"""Run the import contracts of `pyproject.toml` over the sources of a workspace; nothing has to be installed.

    python tests/architecture/lint_imports.py [ROOT]

The sources are only read, never imported. The exit status is that of import-linter: 0 when every contract is kept.
"""

import os
import sys
from pathlib import Path

from importlinter.cli import lint_imports


def main(root: Path) -> int:
    sys.path[:0] = [str(source) for source in sorted(root.glob("packages/*/src"))]
    os.chdir(root)
    return lint_imports(config_filename="pyproject.toml", no_cache=True, no_logo=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()))
