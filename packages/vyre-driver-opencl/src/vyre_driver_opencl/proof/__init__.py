"""Proofs by execution: what a device says of itself counts only where a kernel shows it."""
