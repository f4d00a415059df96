"""The one dispatch path, over a port with six primitives."""
