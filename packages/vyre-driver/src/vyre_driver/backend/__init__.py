"""The frozen contract of backends, and the types of its arguments and results."""
