"""``python -m vyre.cli`` is `vyre`."""

from vyre.cli import main

main(prog_name="vyre")
