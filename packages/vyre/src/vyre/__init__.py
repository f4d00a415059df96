"""Write a data-parallel program once; run it on any installed backend with byte-identical results."""

__version__ = "0.1.0"
