"""Code generation: from a program to kernels, and from kernels to source."""
