"""Memory that stays on the device: handles, transfers, and dispatches over it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import HostShimBuffer, ResidentDispatchStep, ResidentReadRange, Resource
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, InvalidInput, StaleHandle, Trapped
from vyre_driver.testing.fake_port import FakePort, InjectedError
from vyre_foundation.build import program
from vyre_foundation.dtype import u8, u32
from vyre_foundation.ir.program import Program

from .programs import DOUBLED, A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps, words


def filled(backend: EngineBackend, *contents: Any) -> list[Resource]:
    """A resource for each array."""
    found = []
    for data in contents:
        found.append(backend.allocate_resident(np.asarray(data).nbytes))
        backend.upload_resident(found[-1], np.asarray(data))
    return found


# ── handles ──


def test_resident_memory_is_zero_at_first_and_keeps_what_is_written(engine: Engine) -> None:
    backend = engine().backend
    resource = backend.allocate_resident(8)
    assert bytes(backend.download_resident(resource)) == bytes(8)
    backend.upload_resident(resource, b"abcdefgh")
    backend.upload_resident_at(resource, 2, b"CD")
    backend.upload_resident_at_many([(resource, 0, b"1"), (resource, 0, b"2"), (resource, 7, b"8")])
    assert bytes(backend.download_resident(resource)) == b"2bCDefg8"
    assert bytes(backend.download_resident_range(resource, 2, 3)) == b"CDe"
    target, part = bytearray(8), bytearray(2)
    backend.download_resident_into(resource, target)
    backend.download_resident_range_into(resource, 6, 2, part)
    assert (bytes(target), bytes(part)) == (b"2bCDefg8", b"g8")
    backend.download_resident_ranges_into(
        [ResidentReadRange(resource=resource, byte_offset=n, byte_len=1) for n in (0, 7)],
        [memoryview(target)[:1], memoryview(target)[1:2]],
    )
    assert bytes(target[:2]) == b"28"


def test_nothing_can_be_resident_too(engine: Engine) -> None:
    backend = engine().backend
    resource = backend.allocate_resident(0)
    backend.upload_resident(resource, b"")
    assert bytes(backend.download_resident(resource)) == b""
    backend.free_resident(resource)


def uses(backend: EngineBackend, resource: Resource) -> list[Any]:
    """Everything that takes a handle."""
    part = ResidentReadRange(resource=resource, byte_offset=0, byte_len=1)
    return [
        lambda: backend.upload_resident(resource, bytes(resource.byte_len)),
        lambda: backend.upload_resident_many([(resource, bytes(resource.byte_len))]),
        lambda: backend.upload_resident_at(resource, 0, b"1"),
        lambda: backend.download_resident(resource),
        lambda: backend.download_resident_into(resource, bytearray(resource.byte_len)),
        lambda: backend.download_resident_range(resource, 0, 1),
        lambda: backend.download_resident_ranges_into([part], [bytearray(1)]),
        lambda: backend.dispatch_resident_timed(doubling(), [resource, resource]),
        lambda: backend.dispatch_resident_sequence_read_ranges_into([], [part], [bytearray(1)]),
        lambda: backend.free_resident(resource),
    ]


def test_a_handle_that_was_freed(engine: Engine) -> None:
    backend = engine().backend
    resource = backend.allocate_resident(4)
    backend.free_resident(resource)
    for use in uses(backend, resource):
        with pytest.raises(StaleHandle, match="it was freed"):
            use()


def test_a_handle_of_another_engine_of_the_same_id(engine: Engine) -> None:
    theirs, ours = engine().backend, engine().backend
    resource, _ = theirs.allocate_resident(4), ours.allocate_resident(4)
    for use in uses(ours, resource):
        with pytest.raises(StaleHandle, match="is another one, or was opened again"):
            use()
    for use in uses(ours, replace(resource, backend="another")):
        with pytest.raises(StaleHandle, match="it belongs to another backend than 'fake'"):
            use()


def test_a_handle_that_lies_about_its_size(engine: Engine) -> None:
    backend = engine().backend
    resource = backend.allocate_resident(4)
    with pytest.raises(StaleHandle):
        backend.download_resident_range(replace(resource, byte_len=400), 100, 4)


def test_a_handle_from_before_the_device_was_opened_again(engine: Engine) -> None:
    backend = engine().backend
    resource = backend.allocate_resident(4)
    backend.try_recover()
    with pytest.raises(StaleHandle, match="was opened again"):
        backend.download_resident(resource)
    assert bytes(backend.download_resident(backend.allocate_resident(4))) == bytes(4)


@pytest.mark.parametrize(("offset", "size"), [(0, 9), (8, 1), (5, 4), (-1, 2), (0, -1), (True, 1), (1.0, 1)])
def test_ranges_that_are_not_within(engine: Engine, offset: Any, size: Any) -> None:
    e = engine()
    resource = e.backend.allocate_resident(8)
    before = len(e.ports[0].log)
    with pytest.raises(InvalidInput):
        e.backend.download_resident_range(resource, offset, size)
    if not isinstance(size, int) or size >= 0:
        with pytest.raises(InvalidInput):
            e.backend.upload_resident_at(resource, offset, bytes(size))
    assert len(e.ports[0].log) == before


def test_what_is_refused_changes_nothing(engine: Engine) -> None:
    e = engine()
    first, second = filled(e.backend, b"1234", b"5678")
    before = e.ports[0].count("copy_in")
    for use in (
        lambda: e.backend.upload_resident(first, b"12345"),
        lambda: e.backend.upload_resident_many([(first, b"abcd"), (second, b"abcde")]),
        lambda: e.backend.upload_resident_at_many([(first, 0, b"abcd"), (second, 1, b"abcd")]),
        lambda: e.backend.download_resident_into(first, bytearray(5)),
        lambda: e.backend.download_resident_into(first, b"read"),
        lambda: e.backend.allocate_resident(-1),
        lambda: e.backend.allocate_resident(1.5),
        lambda: e.backend.download_resident("first"),
    ):
        with pytest.raises(InvalidInput):
            use()
    assert e.ports[0].count("copy_in") == before
    assert bytes(e.backend.download_resident(first)) == b"1234"


def test_an_allocation_that_fails_leaves_nothing(engine: Engine) -> None:
    e = engine(faults=[InjectedError("allocate", DeviceOutOfMemory(4, 0), nth) for nth in (1, 2)])
    with pytest.raises(DeviceOutOfMemory):
        e.backend.allocate_resident(4)
    e.ports[0].faults = [InjectedError("fill", DispatchFailed("no", backend="fake"))]
    with pytest.raises(DispatchFailed):
        e.backend.allocate_resident(4)
    assert e.ports[0].live == set()


def test_what_is_kept_makes_room_for_resident_memory(engine: Engine) -> None:
    e = engine(double)
    e.backend.dispatch(doubling(), [A])
    assert len(e.ports[0].live) == 2
    e.ports[0].faults = [InjectedError("allocate", DeviceOutOfMemory(4, 0), e.ports[0].count("allocate") + 1)]
    e.backend.allocate_resident(4)
    assert len(e.ports[0].live) == 1


# ── dispatches ──


def test_a_dispatch_over_resident_memory_copies_nothing(engine: Engine) -> None:
    e, source = engine(double), doubling()
    a, out = filled(e.backend, A, np.full(5, 99, np.uint32))
    before = e.ports[0].log.copy()
    timed = e.backend.dispatch_resident_timed(source, [a, out])
    assert (timed.outputs, timed.device_ns) == ([], 1000)
    calls = e.ports[0].log[len(before) :]
    assert not {"copy_in", "copy_out", "allocate"} & set(calls)
    assert bytes(e.backend.download_resident(out)) == DOUBLED
    with e.backend.compile_native(source) as pipeline:
        for _ in range(3):
            pipeline.dispatch_resident([out, a])
            pipeline.dispatch_resident([a, out])
    assert words(e.backend.download_resident(out)) == [n * 2**7 for n in range(5)]
    assert e.backend.backend_metric_snapshot()["waits"] == 7


def test_outputs_begin_as_zeros_unless_they_are_written_everywhere(engine: Engine) -> None:
    e = engine()
    a, out = filled(e.backend, A, np.full(6, 99, np.uint32))
    source = doubling()
    before = e.ports[0].count("fill")
    e.backend.dispatch_resident_timed(source, [a, out], DispatchConfig(grid_override=(1, 1, 1)))  # 4 of 5 elements
    assert e.ports[0].count("fill") == before + 1
    assert words(e.backend.download_resident(out)) == [0, 0, 0, 0, 0, 99]
    e.backend.dispatch_resident_timed(source, [a, out])
    assert e.ports[0].count("fill") == before + 1


def test_a_grid_without_workgroups(engine: Engine) -> None:
    e = engine(double)
    a, out = filled(e.backend, A, A)
    e.backend.dispatch_resident_timed(doubling(), [a, out], DispatchConfig(grid_override=(0, 1, 1)))
    assert bytes(e.backend.download_resident(out)) == bytes(20)
    assert e.ports[0].count("launch") == 0


def fixed() -> Program:
    with program("fixed", 2) as p:
        a = p.read("a", u32, 2)
        p.read_write("both", u32, 2)
        p.write("out", u8, like=a)
    return p.build()


@pytest.mark.parametrize(
    ("sizes", "buffer"),
    [((8, 8), "out"), ((8, 8, 2, 1), "number 3"), ((4, 8, 2), "a"), ((8, 4, 2), "both"), ((8, 8, 1), "out")],
)
def test_resources_that_do_not_fit(engine: Engine, sizes: tuple[int, ...], buffer: str) -> None:
    e = engine()
    given = [e.backend.allocate_resident(size) for size in sizes]
    with pytest.raises(InvalidInput) as caught:
        e.backend.dispatch_resident_timed(fixed(), given)
    assert caught.value.buffer == buffer
    assert e.ports[0].count("launch") == 0


def test_a_resource_may_be_larger_than_its_buffer(engine: Engine) -> None:
    def run(x: Any) -> None:
        assert [len(x[name]) for name in ("a", "both", "out")] == [2, 2, 2]
        x["both"][:] += x["a"]

    e = engine(run)
    given = filled(e.backend, np.array([1, 2, 9], np.uint32), np.array([5, 6, 7], np.uint32), b"1234")
    e.backend.dispatch_resident_timed(fixed(), given)
    assert words(e.backend.download_resident(given[1])) == [6, 8, 7]
    assert bytes(e.backend.download_resident(given[2])) == b"\0\00034"


def test_one_resource_for_two_buffers(engine: Engine) -> None:
    backend = engine().backend
    (a,) = filled(backend, A)
    with pytest.raises(InvalidInput, match="a resource of its own: 'a' and 'out' are not both read alone"):
        backend.dispatch_resident_timed(doubling(), [a, a])


def test_freeing_ends_the_launches_that_used_it(engine: Engine) -> None:
    e, source = engine(double), doubling()
    with e.backend.compile_native(source) as pipeline:
        a, out, other = filled(e.backend, A, A, A)
        pipeline.dispatch_resident([a, out])
        pipeline.dispatch_resident([a, other])
        e.backend.free_resident(out)
        with pytest.raises(StaleHandle, match="it was freed"):
            pipeline.dispatch_resident([a, out])
        prepares = e.backend.backend_metric_snapshot()["prepares"]
        pipeline.dispatch_resident([a, other])
        assert e.backend.backend_metric_snapshot()["prepares"] == prepares


def test_memory_is_freed_while_the_device_works_with_it(engine: Engine) -> None:
    e = engine(double, is_lazy=True)
    pending = e.backend.dispatch_async(doubling(), [A])
    a = e.backend.allocate_resident(20)
    e.backend.upload_resident(a, A)
    e.backend.free_resident(a)
    assert bytes(pending.await_result()[0]) == DOUBLED


def test_a_trap_over_resident_memory(engine: Engine, lowering: UseLowering) -> None:
    lowering(with_traps)
    e = engine(trap_if_odd)
    a, out = filled(e.backend, A + 1, A)
    with e.backend.compile_native(doubling()) as pipeline:
        for _ in range(2):
            with pytest.raises(Trapped) as caught:
                pipeline.dispatch_resident([a, out])
            assert (caught.value.tag, caught.value.trap_code, caught.value.invocation) == ("odd", 1, 3)
        e.backend.upload_resident(a, A)
        pipeline.dispatch_resident([a, out])


# ── device buffers ──


def test_device_buffers(engine: Engine) -> None:
    e, source = engine(double), doubling()
    a, out = e.backend.allocate_device_buffer(20), e.backend.allocate_device_buffer(20)
    assert (a.backend_id(), a.byte_len(), a.debug_label()) == ("fake", 20, None)
    e.backend.upload_device_buffer(a, A)
    e.backend.dispatch_with_device_buffers(source, [a], [out])
    assert bytes(e.backend.download_device_buffer(out)) == DOUBLED
    e.backend.free_device_buffer(a)
    with pytest.raises(StaleHandle, match="it was freed"):
        e.backend.dispatch_with_device_buffers(source, [a], [out])


def test_a_buffer_that_is_read_and_written_is_one(engine: Engine) -> None:
    def run(x: Any) -> None:
        x["both"][:] += x["a"]

    e = engine(run)
    a, both, out, other = (e.backend.allocate_device_buffer(8) for _ in range(4))
    e.backend.upload_device_buffer(a, np.array([1, 2], np.uint32))
    e.backend.upload_device_buffer(both, np.array([5, 6], np.uint32))
    e.backend.dispatch_with_device_buffers(fixed(), [a, both], [both, out])
    assert words(e.backend.download_device_buffer(both)) == [6, 8]
    with pytest.raises(InvalidInput, match="one device buffer as its input and its output"):
        e.backend.dispatch_with_device_buffers(fixed(), [a, both], [other, out])
    with pytest.raises(InvalidInput, match="outputs"):
        e.backend.dispatch_with_device_buffers(fixed(), [a, both], [both])


def test_device_buffers_of_others(engine: Engine) -> None:
    backend = engine().backend
    mine = backend.allocate_device_buffer(20)
    with pytest.raises(StaleHandle, match="device buffer 1 cannot be used: it belongs to backend 'other'"):
        backend.dispatch_with_device_buffers(doubling(), [mine], [HostShimBuffer("other", bytes(20))])
    with pytest.raises(StaleHandle, match="a HostShimBuffer is not of this backend, whatever it says"):
        backend.dispatch_with_device_buffers(doubling(), [mine], [HostShimBuffer("fake", bytes(20))])


def test_arrays_of_others_are_used_where_they_are(engine: Engine) -> None:
    e = engine(double)
    a, out = A.copy(), np.zeros(5, np.uint32)
    given, made = e.backend.wrap_device_buffer(a), e.backend.wrap_device_buffer(out)
    assert made.byte_len() == 20
    e.backend.dispatch_with_device_buffers(doubling(), [given], [made])
    assert out.tolist() == [0, 2, 4, 6, 8]
    a[0] = 50
    e.backend.dispatch_with_device_buffers(doubling(), [given], [made])
    assert out[0] == 100
    e.backend.free_device_buffer(made)
    for foreign in (A[::2], [1, 2], np.empty(0, np.uint32)):
        with pytest.raises(InvalidInput, match="Fix: upload it to a buffer of this backend"):
            e.backend.wrap_device_buffer(foreign)


def test_the_port_is_not_asked_to_free_what_it_did_not_allocate() -> None:
    ports: list[FakePort] = []

    def opened() -> FakePort:
        ports.append(FakePort(lambda plan, memory: None))
        return ports[-1]

    backend = EngineBackend("fake", opened)
    backend.wrap_device_buffer(A.copy())
    backend.shutdown()
    assert ports[0].count("free") == 0
    counts = backend.backend_metric_snapshot()
    assert counts["allocations"] == counts["frees"] == 1


# ── the end of handles ──


def test_memory_ends_with_the_last_reference_to_its_handle(engine: Engine) -> None:
    """At the next call, and with it every launch over it; also after all that remembers calls has seen the handle."""
    e = engine(double)
    source = doubling()
    a, out = filled(e.backend, A, np.zeros_like(A))
    steps = [ResidentDispatchStep(program=source, resources=(a, out))]
    pipeline = e.backend.compile_native(source)
    for _ in range(3):
        e.backend.dispatch_resident_timed(source, [a, out])
        pipeline.dispatch_resident([a, out])
        e.backend.dispatch_resident_repeated_sequence_read_ranges_into([], steps, 2, [], [])
    assert words(e.backend.download_resident(out)) == (2 * A).tolist()
    held, number = len(e.ports[0].live), out.id
    del out, steps
    e.backend.download_resident(a)
    assert len(e.ports[0].live) < held
    forged = replace(a, id=number)
    with pytest.raises(StaleHandle, match="it was freed"):
        e.backend.download_resident(forged)


def test_a_copy_of_a_handle_keeps_nothing_alive(engine: Engine) -> None:
    backend = engine().backend
    handle = backend.allocate_resident(4)
    copy = replace(handle)
    assert bytes(backend.download_resident(copy)) == bytes(4)
    del handle
    with pytest.raises(StaleHandle, match="it was freed"):
        backend.download_resident(copy)


def test_an_object_in_the_place_of_another_is_not_taken_for_it(engine: Engine) -> None:
    """Copies of handles come and go, perhaps at one address; each dispatch works over what it was given."""
    e = engine(double)
    source = doubling()
    a, b, out = filled(e.backend, A, A + 1, np.zeros_like(A))
    pipeline = e.backend.compile_native(source)
    for given, expected in ((a, 2 * A), (b, 2 * (A + 1))) * 4:
        pipeline.dispatch_resident([replace(given), replace(out)])
        assert words(e.backend.download_resident(out)) == expected.tolist()


def test_the_end_of_a_block_ends_memory(engine: Engine) -> None:
    backend = engine().backend
    with backend.allocate_resident(4) as resource, backend.allocate_device_buffer(4) as buffer:
        backend.download_resident(resource)
        backend.download_device_buffer(buffer)
    for use in (lambda: backend.download_resident(resource), lambda: backend.download_device_buffer(buffer)):
        with pytest.raises(StaleHandle, match="it was freed"):
            use()
    resource.end()


def test_a_sequence_of_new_steps_is_prepared_again(engine: Engine) -> None:
    """Steps that are gone are not taken for those that lie where they were."""
    e = engine(double, records=True)
    source = doubling()
    a, b, out = filled(e.backend, A, A + 1, np.zeros_like(A))
    for given, expected in ((a, 2 * A), (b, 2 * (A + 1))) * 4:
        steps = [ResidentDispatchStep(program=source, resources=(given, out))]
        e.backend.dispatch_resident_repeated_sequence_read_ranges_into([], steps, 3, [], [])
        assert words(e.backend.download_resident(out)) == expected.tolist()
        del steps
