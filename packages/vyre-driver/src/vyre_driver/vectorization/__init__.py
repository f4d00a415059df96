"""Vectorization: workgroups as loops, loop versioning, index-set splitting; the shape that CPU compilers vectorize."""
