"""What is faster here? Measured, and kept with the device."""
