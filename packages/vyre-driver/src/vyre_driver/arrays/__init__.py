"""Arrays in the memory of a device, and dispatches over them."""
