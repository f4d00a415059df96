"""``python -m vyre_conform`` is `vyre-conform`."""

from vyre_conform.cli import main

main()
