"""Tests of code for Windows, where Wine and what `cpu_windows.prepare` makes are there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
