"""Vectorization: workgroups as loops, loop versioning and index-set splitting, for CPU compilers that vectorize."""
