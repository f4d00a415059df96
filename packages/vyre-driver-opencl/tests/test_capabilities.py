"""What is claimed is what is emitted: a native form for every capability, and none where there is no claim."""

import re

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.codegen.lower import legalize
from vyre_driver.legalization.target import Groups
from vyre_driver_opencl import about
from vyre_driver_opencl.emit import emit
from vyre_driver_opencl.opened import OpenedDevice, open_device
from vyre_driver_opencl.port import OpenClPort
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, bf16, bool_, f16, f32, f64, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS, Tier


@pytest.fixture(scope="module")
def opened(backend_id: str) -> OpenedDevice:
    opened = open_device(backend_id)
    opened.show()
    return opened


@pytest.fixture(scope="module")
def port(backend_id: str, opened: OpenedDevice) -> OpenClPort:
    return OpenClPort(backend_id, opened)


def source(opened: OpenedDevice, program: Program) -> str:
    lowered = legalize(program, program.validate(), opened.dialect.target())
    return emit(lowered, opened.dialect, opened.reported.options).text


def kernel_text(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def arithmetic(t: DType) -> Program:
    with program("arithmetic", workgroup_size=8) as p:
        a, b = p.read("a", t), p.read("b", t)
        out = p.write("out", t, like=a)
        i = p.global_id(0)
        out[i] = a[i] * b[i] + a[i]
    return p.build()


def test_f16_is_native_exactly_where_it_is_claimed(opened: OpenedDevice, port: OpenClPort, agree) -> None:
    text = kernel_text(source(opened, arithmetic(f16)))
    assert bool(re.search(r"\bhalf\b", text)) == port.probe().supports_f16 == (f16 in opened.proven.floats)
    values = np.arange(-8, 8, dtype=np.float16) / 3
    agree(arithmetic(f16), [values, values[::-1].copy()])


def test_bf16_is_not_native_and_not_claimed(opened: OpenedDevice, port: OpenClPort, agree) -> None:
    assert not port.probe().supports_bf16
    assert "bfloat" not in source(opened, arithmetic(bf16))
    agree(arithmetic(bf16), [np.arange(0x3F00, 0x4700, 64, dtype=np.uint16)] * 2)


def test_f64_is_native_exactly_where_it_is_claimed(opened: OpenedDevice, port: OpenClPort, agree) -> None:
    assert port.probe().supports_f64 == (f64 in opened.proven.floats) == (f64 in port.target().arithmetic)
    if port.probe().supports_f64:
        assert re.search(r"\bdouble\b", kernel_text(source(opened, arithmetic(f64))))
        agree(arithmetic(f64), [np.linspace(-1, 1, 16), np.linspace(3, 1e300, 16)])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64])
def test_subgroups_are_native_exactly_where_they_are_claimed(opened: OpenedDevice, port: OpenClPort, size: int) -> None:
    with program("votes", workgroup_size=64, subgroup_size=size) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        value = p.let(a[p.global_id(0)])
        total = p.subgroup("shuffle", value, p.local_id(0) + 1)
        with p.if_(p.subgroup("any", value > 5)):
            out[p.global_id(0)] = total
    text, is_claimed = source(opened, p.build()), size in port.target().subgroup_sizes
    assert ("sub_group_shuffle(" in text) == is_claimed
    assert ("sub_group_any(" in text) == is_claimed
    assert (f"intel_reqd_sub_group_size({size})" in text) == is_claimed
    assert ("barrier(" in text) == (not is_claimed and opened.dialect.groups is not Groups.LOOPS)
    assert port.probe().supports_subgroup_ops == bool(port.target().subgroup_sizes)


def test_atomics_of_64_bits_are_what_is_claimed(opened: OpenedDevice, port: OpenClPort) -> None:
    claimed = port.probe().supports_atomic64
    assert claimed == any(t is u64 for _, t in port.target().atomics)
    if claimed:
        with program("counts", workgroup_size=8) as p:
            p.write("out", u64, 1).atomic_max(0, p.global_id(0).cast(u64))
        assert "atom_max(" in source(opened, p.build())


def test_mul_high_is_one_multiplication(opened: OpenedDevice, port: OpenClPort) -> None:
    assert port.probe().has_mul_high
    with program("high", workgroup_size=8) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = apply("mul_high", a[p.global_id(0)], a[p.global_id(0)])
    assert re.search(r"\(ulong\)\w+ \* \(ulong\)\w+\) >> 32", source(opened, p.build()))


def test_no_capability_is_claimed_without_its_mechanism(port: OpenClPort) -> None:
    profile = port.probe()
    assert not profile.supports_grid_sync
    assert not profile.supports_indirect_dispatch
    assert not profile.supports_tensor_cores
    assert profile.supports_async_compute == any(queue.is_interruptible for queue in profile.queues)
    assert profile.subgroup_size is None


def test_nothing_slow_or_vague_is_called(opened: OpenedDevice) -> None:
    """Only words whose meaning is exact, and none that a CPU compiler leaves as a call."""
    everything = " ".join([*opened.dialect.ops.values(), *opened.dialect.casts.values()])
    for word in ("native_", "half_", "convert_", "rotate(", "select(", "clamp(", "mad(", "fmin(", "fmax("):
        assert word not in everything
    if about.is_pocl(opened.device):
        calls = set(re.findall(r"\b([a-z]\w+)\(", everything)) - {"as_float", "as_double"}
        assert all(word.startswith("__builtin_") for word in calls), calls


def test_contraction_is_off_in_every_text(opened: OpenedDevice) -> None:
    text = source(opened, arithmetic(f32))
    assert text.startswith("#pragma OPENCL FP_CONTRACT OFF\n")
    assert "fma" not in text


def test_the_reported_and_the_proven_are_kept_apart(opened: OpenedDevice) -> None:
    assert set(opened.proven.floats) <= set(opened.reported.floats)
    assert opened.reported.subgroups or not opened.proven.subgroup_sizes
    assert all(op in OPS and OPS[op].tier is Tier.LANGUAGE for op, _ in opened.proven.ops)


def test_emission_is_a_function_of_its_input(opened: OpenedDevice, port: OpenClPort) -> None:
    first, second = arithmetic(f32), arithmetic(f32)
    lowered = [legalize(p, p.validate(), port.target()) for p in (first, second)]
    assert port.emit(lowered[0]) == port.emit(lowered[1])


def test_an_ulp_budget_is_part_of_the_key(backend) -> None:
    exact = backend.compile_native(arithmetic(f32), DispatchConfig())
    loose = backend.compile_native(arithmetic(f32), DispatchConfig(ulp_budget=4))
    assert exact.id() != loose.id()
    values = [np.linspace(-3, 3, 16, dtype=np.float32)] * 2
    assert bytes(exact.dispatch(values)[0]) == bytes(loose.dispatch(values)[0])


def test_bools_and_words_have_one_meaning(opened: OpenedDevice) -> None:
    assert bool_ in opened.dialect.literals
    assert opened.dialect.types[u32] == "uint"
