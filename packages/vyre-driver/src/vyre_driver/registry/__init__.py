"""The installed backends and dialects, and the choice of a backend."""
