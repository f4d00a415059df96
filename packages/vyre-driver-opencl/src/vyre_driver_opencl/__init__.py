"""The OpenCL backend of vyre, with an embedded CPU runtime."""

__version__ = "0.1.0"
