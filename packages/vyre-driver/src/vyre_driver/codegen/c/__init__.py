"""The printer of C-like languages: kernels as source text, in the words of a `CDialect`."""
