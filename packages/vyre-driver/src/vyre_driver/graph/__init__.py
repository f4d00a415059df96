"""Work as a graph: dispatches, copies and loops recorded as one value, validated before anything runs."""

from vyre_driver.graph.methods import add_methods

add_methods()
