"""A dialect from outside."""

from importlib.resources import files

from vyre_foundation.dialect import Dialect
from vyre_foundation.dialect_manifest import parse_manifest


def geometry() -> Dialect:
    """What the entry point announces."""
    return parse_manifest(files(__name__).joinpath("geometry.toml").read_text("utf-8"), "geometry.toml")
