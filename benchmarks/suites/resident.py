"""Memory that stays on the device: what a step of a sequence costs, and many streams of one kernel.

A sequence is of one small program, over the same two buffers at each step or over other ones. Streams are arrays of
65,536 floats of which a kernel adds the equal elements, by the invocation's number (`direct`) or by an index from
memory (`gathered`): in resident memory, and in arrays that all begin at one offset in a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice, permutations

import numpy as np
import numpy.typing as npt
from harness import Case, Peer, Scale, Trial
from records import Record
from report import Table, per, pivot

TITLE = "Resident memory"
CALLS = 50
CL = ("vyre_driver_opencl", "pyopencl")
PEERS = {
    "vyre": Peer(modules=("vyre", *CL)),
    "vyre, CPU": Peer(modules=("vyre", "vyre_driver_cpu")),
    "PyOpenCL": Peer(modules=CL),
}
STEPS = (512, 1_000, 10_000, 100_000)
STREAMS = (8, 16)
BUFFERS = 320
"""Their pairs are more than the most steps."""
WORDS, GROUP = 64, 64
ELEMENTS = 2**16
SOURCE = """
kernel void xor5(global const uint *a, global uint *b, uint n) {
    size_t i = get_global_id(0);
    if (i < n) b[i] = a[i] ^ 5;
}
"""


def cases(scale: Scale) -> list[Case]:
    if scale is Scale.TOY:
        return [Case("sequence", 64), Case("streams", 2)]
    return [*(Case("sequence", steps) for steps in STEPS), *(Case("streams", count) for count in STREAMS)]


def takes_part(peer: str, case: Case) -> bool:
    return peer == "vyre" or case.name == "sequence"


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    if case.name == "streams":
        return _streams(case.size)
    backend = "cpu" if peer.endswith("CPU") else "opencl"
    make = partial(_sequence, backend) if peer.startswith("vyre") else _by_hand
    pairs = list(permutations(range(BUFFERS), 2))
    two = list(islice(cycle([(0, 1), (1, 0)]), case.size))
    return {"over two buffers": make(two), "over other buffers at each step": make(pairs[: case.size])}


def _sequence(backend_id: str, pairs: Sequence[tuple[int, int]]) -> Trial:
    import vyre
    from vyre_driver import ResidentDispatchStep
    from vyre_foundation import program, u32

    with program("step", GROUP) as p:
        a = p.read("a", u32)
        b = p.write("b", u32, like=a)
        b[p.global_id(0)] = a[p.global_id(0)] ^ 5
    source, backend = p.build(), vyre.backend_for(backend_id)
    buffers = [backend.allocate_resident(4 * WORDS) for _ in range(BUFFERS)]
    known = {(a, b): ResidentDispatchStep(program=source, resources=(buffers[a], buffers[b])) for a, b in set(pairs)}
    steps = [known[pair] for pair in pairs]
    run = partial(backend.dispatch_resident_sequence_read_ranges_into, steps, [], [])
    run()  # recorded from now on

    def is_right() -> bool:
        backend.upload_resident_many([(buffer, _contents(n)) for n, buffer in enumerate(buffers)])
        run()
        found = [np.frombuffer(backend.download_resident(buffer), np.uint32) for buffer in buffers]
        return _is_expected(found, pairs)

    return Trial(run=run, is_right=is_right, amount=len(pairs))


def _by_hand(pairs: Sequence[tuple[int, int]]) -> Trial:
    """One kernel object, whose arguments are set for each step."""
    import pyopencl as cl

    from vyre_driver_opencl.opened import open_device

    opened = open_device("opencl")
    context = cl.Context([opened.device])
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "xor5")
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * WORDS) for _ in range(BUFFERS)]
    kernel.set_arg(2, np.uint32(WORDS))
    set_arg, enqueue = kernel.set_arg, cl.enqueue_nd_range_kernel

    def run() -> None:
        for n, (a, b) in enumerate(pairs, 1):
            set_arg(0, buffers[a])
            set_arg(1, buffers[b])
            enqueue(queue, kernel, (WORDS,), (GROUP,))
            if n % 4096 == 0:
                queue.finish()
        queue.finish()

    def is_right() -> bool:
        for n, buffer in enumerate(buffers):
            cl.enqueue_copy(queue, buffer, _contents(n))
        run()
        found = [np.empty(WORDS, np.uint32) for _ in buffers]
        for buffer, into in zip(buffers, found, strict=True):
            cl.enqueue_copy(queue, into, buffer)
        return _is_expected(found, pairs)

    return Trial(run=run, is_right=is_right, amount=len(pairs))


def _contents(number: int) -> npt.NDArray[np.uint32]:
    return np.arange(WORDS, dtype=np.uint32) * np.uint32(number + 1)


def _is_expected(found: Sequence[npt.NDArray[np.uint32]], pairs: Sequence[tuple[int, int]]) -> bool:
    expected = [_contents(number) for number in range(BUFFERS)]
    for a, b in pairs:
        expected[b] = expected[a] ^ np.uint32(5)
    return all(map(np.array_equal, found, expected))


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _streams(count: int) -> dict[str, Trial]:
    import opencl

    import vyre

    backend = vyre.backend_for("opencl")
    arrays = [np.arange(ELEMENTS, dtype=np.float32) * np.float32(n) for n in range(count)]
    numbers = np.arange(ELEMENTS, dtype=np.uint32)
    trials = {}
    for way, inputs in (("direct", arrays), ("gathered", [*arrays, numbers])):
        source = _adding(count, is_gathered=way == "gathered")
        aligned = [opencl.on_a_page(array) for array in (*inputs, arrays[0])]
        for array, contents in zip(aligned, inputs, strict=False):
            array[:] = contents
        wrapped = [backend.wrap_device_buffer(array) for array in aligned]
        own = [backend.allocate_device_buffer(array.nbytes) for array in aligned]
        for buffer, contents in zip(own, inputs, strict=False):
            backend.upload_device_buffer(buffer, contents)
        for where, buffers in (("resident", own), ("at one offset in a page", wrapped)):
            run = partial(backend.dispatch_with_device_buffers, source, buffers[:-1], buffers[-1:])
            trials[f"{way}, {where}"] = Trial(
                run=run, is_right=partial(_is_sum, backend, buffers[-1], arrays), amount=count * ELEMENTS
            )
    return trials


def _adding(count: int, *, is_gathered: bool):  # type: ignore[no-untyped-def]
    from vyre_foundation import f32, program, u32

    with program(f"add{count}", GROUP) as p:
        arrays = [p.read(f"a{n}", f32) for n in range(count)]
        i = p.read("numbers", u32)[p.global_id(0)] if is_gathered else p.global_id(0)
        total = arrays[0][i]
        for array in arrays[1:]:
            total = total + array[i]
        p.write("out", f32, like=arrays[0])[p.global_id(0)] = total
    return p.build()


def _is_sum(backend, buffer, arrays: Sequence[npt.NDArray[np.float32]]) -> bool:  # type: ignore[no-untyped-def]
    expected = arrays[0].copy()
    for array in arrays[1:]:
        expected += array
    return np.array_equal(np.frombuffer(backend.download_device_buffer(buffer), np.float32), expected)


def tables(records: Sequence[Record]) -> list[Table]:
    sequences, streams = ([row for row in records if row["case"] == case] for case in ("sequence", "streams"))
    show: Callable[[Record], str] = partial(per, scale=1e6)
    steps = pivot(sequences, rows=("peer", "variant"), columns=("size",), show=show)
    elements = pivot(streams, rows=("variant",), columns=("size",), show=partial(per, scale=1e9))
    return [
        steps.titled("µs a step of a sequence, by its length"),
        elements.titled("ns an element, by the number of streams"),
    ]
