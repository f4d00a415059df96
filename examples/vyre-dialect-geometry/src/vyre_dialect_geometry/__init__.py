"""A dialect from outside: what a manifest can say, and an op in Python."""

from dataclasses import replace
from importlib.resources import files

from vyre_dialect_geometry.packed import DISTANCE, accepts
from vyre_foundation.dialects import Dialect
from vyre_foundation.discovery.manifest import parse_manifest


def geometry() -> Dialect:
    """What the entry point announces."""
    told = parse_manifest(files(__name__).joinpath("geometry.toml").read_text("utf-8"), "geometry.toml")
    return replace(told, ops=(*told.ops, DISTANCE), validator=accepts)
