"""What must a backend promise? The frozen contract and the values that pass through it."""
