"""The functions for f32: correctly rounded, by way of f64."""
