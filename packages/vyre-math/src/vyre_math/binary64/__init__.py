"""The functions for f64: off by less than one unit in the last place, in most files by way of pairs of f64."""
