"""Grid barriers as ends of kernels."""
