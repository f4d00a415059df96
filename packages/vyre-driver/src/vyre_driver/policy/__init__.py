"""Should this be done? Pure decisions: facts and thresholds in, a verdict with a reason out."""
