"""How a graph runs: memory by liveness, steps over resident memory, launches that do not block."""
