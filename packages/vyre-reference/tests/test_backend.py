"""The reference behind the backend contract."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import Selection
from vyre_driver.errors import InvalidInput, InvalidLaunch, OutputLimitExceeded, Trapped, UnsupportedFeature
from vyre_driver.pipeline.compile import compile
from vyre_driver.registry.backends import acquire, registered_backends_by_precedence
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_reference import __version__, registration, scalar_registration


@pytest.fixture(params=[registration, scalar_registration], ids=lambda r: r.id)
def backend(request) -> VyreBackend:
    return request.param.factory()


def built():
    with program("backend", 4) as p:
        a, scale = p.read("a", f32), p.uniform("scale", f32, 1)
        out = p.write("out", f32, like=a)
        runs = p.persistent("runs", u32, 1)
        count = p.write("count", u32, 1)
        i = p.global_id(0)
        out[i] = a[i] * scale[0]
        with p.if_(i == 0):
            runs[0] = runs[0] + 1
            count[0] = runs[0]
        with p.if_(a[i] < 0.0):
            p.trap(i, "negative")
    return p.build()


INPUTS = [np.array([1, 2, 3], np.float32), np.array([2], np.float32)]


def test_outputs_are_fresh_bytes_in_binding_order(backend):
    out, count = backend.dispatch(built(), INPUTS)
    assert (out.format, out.readonly) == ("B", False)
    assert np.frombuffer(out, np.float32).tolist() == [2, 4, 6]
    assert bytes(count) == b"\1\0\0\0"


def test_arrays_by_name(backend):
    got = backend.dispatch_arrays(built(), {"a": INPUTS[0], "scale": INPUTS[1]})
    assert got["out"].tolist() == [2, 4, 6]


def test_a_pipeline_keeps_persistent_memory_and_a_dispatch_does_not(backend):
    with compile(backend, built()) as pipeline:
        counts = [bytes(pipeline.dispatch(INPUTS)[1])[0] for _ in range(3)]
        assert counts == [1, 2, 3]
        assert bytes(backend.dispatch(built(), INPUTS)[1])[0] == 1
        with pytest.raises(InvalidLaunch, match="which the pipeline was compiled with"):
            pipeline.dispatch(INPUTS, DispatchConfig(workgroup_override=(8, 1, 1)))
    assert pipeline.id().startswith(f"{backend.id()}:")


def test_failures_are_typed(backend):
    with pytest.raises(Trapped) as caught:
        backend.dispatch(built(), [np.array([1, -1], np.float32), INPUTS[1]])
    assert (caught.value.tag, caught.value.invocation) == ("negative", 1)
    with pytest.raises(InvalidInput, match="2 inputs in binding order"):
        backend.dispatch(built(), INPUTS[:1])
    with pytest.raises(OutputLimitExceeded):
        backend.dispatch(built(), INPUTS, DispatchConfig(max_output_bytes=15))


def test_configuration(backend):
    """What is honoured changes nothing here; what cannot be honoured is refused before anything runs."""
    config = DispatchConfig(ulp_budget=4, label="x", profile="y", cooperative=True, timeout=60.0)
    assert np.frombuffer(backend.dispatch(built(), INPUTS, config)[0], np.float32).tolist() == [2, 4, 6]
    forced = DispatchConfig(speculation=Preference.FORCE, persistent_thread=Preference.FORCE)
    with pytest.raises(UnsupportedFeature, match=f"{backend.id()} does not support speculation; persistent threads"):
        backend.dispatch(built(), INPUTS, forced)


def test_answers_about_itself(backend):
    profile = backend.device_profile()
    assert (profile.backend, backend.version()) == (backend.id(), __version__)
    assert profile.supports_grid_sync
    assert (profile.supports_f16, profile.supports_bf16, profile.supports_subgroup_ops) == (False, False, False)
    assert profile.subgroup_size is None
    assert profile.max_invocations_per_workgroup == 1024


def test_it_is_registered_last_and_never_chosen_silently():
    ranked = registered_backends_by_precedence()
    assert [r.id for r in ranked[-2:]] == ["reference", "reference-scalar"]
    assert {r.selection for r in ranked[-2:]} == {Selection.BY_NAME}
    assert acquire("reference").id() == "reference"
    assert acquire("reference-scalar").id() == "reference-scalar"
