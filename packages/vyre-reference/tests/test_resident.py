"""The reference keeps resident memory too: on the host, with the handles and the checks of every other backend."""

import numpy as np
import pytest

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.errors import InvalidInput, StaleHandle, UnsupportedFeature
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_reference import ReferenceBackend


def adding() -> Program:
    with program("adding", workgroup_size=4) as p:
        a = p.read("a", u32)
        total = p.read_write("total", u32, like=a)
        i = p.global_id(0)
        total[i] = total[i] + a[i]
    return p.build()


A = np.arange(5, dtype=np.uint32)


def test_dispatches_over_resident_memory() -> None:
    backend, source = ReferenceBackend(), adding()
    a, total = backend.allocate_resident(20), backend.allocate_resident(20)
    assert bytes(backend.download_resident(total)) == bytes(20)
    backend.upload_resident(a, A)
    timed = backend.dispatch_resident_timed(source, [a, total])
    assert (timed.outputs, timed.device_ns) == ([], None)
    step, target = ResidentDispatchStep(program=source, resources=(a, total)), np.zeros(2, np.uint32)
    part = ResidentReadRange(resource=total, byte_offset=4, byte_len=8)
    backend.dispatch_resident_repeated_sequence_read_ranges_into([step], [step], 3, [part], [target])
    assert target.tolist() == [5, 10]
    backend.free_resident(a)
    with pytest.raises(StaleHandle, match="it was freed"):
        backend.dispatch_resident_timed(source, [a, total])
    with pytest.raises(StaleHandle, match="is another one"):
        ReferenceBackend().download_resident(total)


def test_device_buffers_and_arrays_in_place() -> None:
    backend = ReferenceBackend()
    total = np.full(5, 10, np.uint32)
    a, both = backend.allocate_device_buffer(20), backend.wrap_device_buffer(total)
    backend.upload_device_buffer(a, A)
    backend.dispatch_with_device_buffers(adding(), [a, both], [both])
    assert total.tolist() == [10, 11, 12, 13, 14]
    with pytest.raises(InvalidInput, match="upload it to a buffer of this backend"):
        backend.wrap_device_buffer(A[::2])


def test_a_resource_that_is_too_small_and_one_for_two_buffers() -> None:
    backend = ReferenceBackend()
    a, small = backend.allocate_resident(20), backend.allocate_resident(16)
    with pytest.raises(InvalidInput):
        backend.dispatch_resident_timed(adding(), [a, small])
    with pytest.raises(InvalidInput, match="a resource of its own"):
        backend.dispatch_resident_timed(adding(), [a, a])


def test_output_ranges_are_refused() -> None:
    with program("part", workgroup_size=4) as p:
        p.write("out", u32, 4, output_range=(0, 8))
    backend = ReferenceBackend()
    with pytest.raises(UnsupportedFeature, match="output ranges over resident memory"):
        backend.dispatch_resident_timed(p.build(), [backend.allocate_resident(16)])


def test_a_pipeline_takes_arrays_by_name() -> None:
    with ReferenceBackend().compile_native(adding()) as pipeline:
        result = pipeline.dispatch_arrays({"a": A, "total": A})["total"]
        assert result.tolist() == [0, 2, 4, 6, 8]
        assert bytes(pipeline.dispatch_async([A, A]).await_result()[0]) == result.tobytes()


def test_a_pipeline_over_resident_memory_keeps_its_persistent_memory() -> None:
    with program("counting", workgroup_size=4) as p:
        a, kept = p.read("a", u32, 4), p.persistent("kept", u32, 4)
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        kept[i] = kept[i] + a[i]
        out[i] = kept[i]
    backend = ReferenceBackend()
    given, made = backend.allocate_resident(16), backend.allocate_resident(16)
    backend.upload_resident(given, np.arange(4, dtype=np.uint32))
    with backend.compile_native(p.build()) as pipeline:
        for times in (1, 2):
            pipeline.dispatch_resident([given, made])
            assert np.frombuffer(backend.download_resident(made), np.uint32).tolist() == [
                0,
                times,
                2 * times,
                3 * times,
            ]
        timed = pipeline.dispatch_resident_timed([given, made])
        assert (timed.outputs, timed.wall_ns > 0) == ([], True)
        backend.free_resident(given)
        with pytest.raises(StaleHandle, match="it was freed"):
            pipeline.dispatch_resident([given, made])
