"""``python -m vyre`` is `vyre`."""

from vyre.cli import main

main(prog_name="vyre")
