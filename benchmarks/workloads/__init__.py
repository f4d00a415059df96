"""The workloads of the kernels' suite by name, one domain a file: data, wanted results, launches by hand."""

from workloads import collecting, elementwise, graph, hashing, matrix, particles, solvers, sorting, stencil, text
from workloads.work import Array, Launch, Work, Workload, entry

WORKLOADS: dict[str, Workload] = {
    **elementwise.WORKLOADS,
    **stencil.WORKLOADS,
    **collecting.WORKLOADS,
    **hashing.WORKLOADS,
    **matrix.WORKLOADS,
    **text.WORKLOADS,
    **sorting.WORKLOADS,
    **graph.WORKLOADS,
    **particles.WORKLOADS,
    **solvers.WORKLOADS,
}

__all__ = ["WORKLOADS", "Array", "Launch", "Work", "Workload", "entry"]
