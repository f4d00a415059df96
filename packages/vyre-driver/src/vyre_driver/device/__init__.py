"""The facts of a device: capabilities, limits and speeds."""
