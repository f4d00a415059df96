"""The demo: real work on the standard library's own source, on every backend, compared with independent answers."""
