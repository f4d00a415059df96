"""Execution of graphs: memory by liveness, steps over resident memory, asynchronous launches."""
