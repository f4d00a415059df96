"""Each component changes the key, nothing else does, and the key is the same in every process."""

import dataclasses
import subprocess
import sys

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.legalization.target import Groups
from vyre_driver.pipeline.fingerprint import PipelineDeviceFingerprint, PipelineFeatureFlags
from vyre_driver.pipeline.key import (
    CURRENT_PIPELINE_CACHE_KEY_VERSION,
    PipelineCacheIdentity,
    called_dialects,
    describe_target,
)
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_foundation import dialects
from vyre_foundation.build import Value, program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.passes import Pass
from vyre_foundation.text import parse
from vyre_foundation.wire import decode, encode

IDENTITY = PipelineCacheIdentity(
    program="ab" * 32,
    workgroup_size=(64, 1, 1),
    ulp_budget=0,
    target="t",
    device=PipelineDeviceFingerprint("backend", "device", "vendor", "driver", "compiler"),
    features=PipelineFeatureFlags.F16,
    emitter="e 1",
    driver="0.1.0",
    foundation="0.1.0",
)

# fmt: off
CHANGES = {
    "program": "ac" * 32, "workgroup_size": (1, 64, 1), "ulp_budget": 1, "target": "u", "emitter": "e 2",
    "driver": "0.1.1", "foundation": "0.1.1", "queue": "wide",
    "device": PipelineDeviceFingerprint("backend", "device", "vendor", "driver", "compiler 2"),
    "features": PipelineFeatureFlags.BF16, "dialects": ("math 2",),
    "version": CURRENT_PIPELINE_CACHE_KEY_VERSION + 1,
}
# fmt: on


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(PipelineCacheIdentity)])
def test_every_component_changes_the_key(field: str) -> None:
    assert dataclasses.replace(IDENTITY, **{field: CHANGES[field]}).key() != IDENTITY.key()


@pytest.mark.parametrize("field", ["backend", "device", "vendor", "driver", "compiler"])
def test_every_part_of_the_device_s_identity_does(field: str) -> None:
    device = dataclasses.replace(IDENTITY.device, **{field: "another"})
    assert dataclasses.replace(IDENTITY, device=device).key() != IDENTITY.key()


def test_another_version_of_a_dialect_that_is_called_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (dialects.Composition("hidden.same", {(u32,): u32}, lambda x: x),)
    dialects.register(rows)
    try:
        with program("calls", 4) as p:
            out = p.write("out", u32, 4)
            out[p.global_id(0)] = Value(dialects.call("hidden.same", p.global_id(0).expr))
        calls = p.build()
        assert called_dialects(adding()) == ()
        assert [text.split()[0] for text in called_dialects(calls)] == ["hidden"]
        keys = set()
        for version in ("1", "2"):
            found = dialects.Dialect(id="hidden", version=version, ops=rows)
            monkeypatch.setattr("vyre_driver.pipeline.key.installed_dialects", lambda found=found: (found,))
            assert called_dialects(calls)[0].startswith(f"hidden {version}")
            keys.add(key(calls))
        assert len(keys) == 2
    finally:
        dialects.unregister(["hidden.same"])


def test_another_manifest_and_a_dialect_behind_another_are_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = dialects.Composition("inner.same", {(u32,): u32}, lambda x: x)
    outer = dialects.Composition("outer.same", {(u32,): u32}, lambda x: dialects.call("inner.same", x))
    dialects.register((inner, outer))
    try:
        with program("calls", 4) as p:
            p.write("out", u32, 4)[p.global_id(0)] = Value(dialects.call("outer.same", p.global_id(0).expr))
        calls = p.build()
        keys = set()
        for digest in ("a1", "b2"):
            found = dialects.Dialect(id="inner", version="1", ops=(inner,), digest=digest)
            monkeypatch.setattr("vyre_driver.pipeline.key.installed_dialects", lambda found=found: (found,))
            assert called_dialects(calls)[0].startswith(f"inner 1 {digest}")
            assert called_dialects(calls)[1].startswith("outer of process ")
            keys.add(key(calls))
        assert len(keys) == 2
    finally:
        dialects.unregister(["inner.same", "outer.same"])


def test_components_do_not_run_together() -> None:
    one = dataclasses.replace(IDENTITY, target="a", emitter="bc")
    other = dataclasses.replace(IDENTITY, target="ab", emitter="c")
    assert one.key() != other.key()


def test_a_key_is_a_full_digest() -> None:
    assert len(str(IDENTITY.key())) == 64
    assert str(IDENTITY.key()) == IDENTITY.key().digest


def adding(amount: int = 1, workgroup_size: int = 64) -> Program:
    with program("adding", workgroup_size) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        x[i] = x[i] + amount
    return p.build()


def key(program: Program, config: DispatchConfig | None = None) -> str:
    config = config or DispatchConfig()
    identity = PipelineCacheIdentity.of(program, config, generous_target(), generous_profile(), "e 1")
    return identity.key().digest


def test_the_key_of_a_dispatch() -> None:
    assert key(adding()) == key(adding())
    assert key(adding(2)) != key(adding())
    assert key(adding(workgroup_size=32)) != key(adding())
    assert key(adding(), DispatchConfig(ulp_budget=1)) != key(adding())


def test_programs_that_mean_the_same_have_one_key_however_they_were_made() -> None:
    text = """program other workgroup(64, 1, 1) {
      read_write x: u32[] @0;
      let where = global_id.x;
      region "added" { x[where] = 1 + x[where]; }
    }"""
    with program("adding", 64) as p:
        x = p.read_write("x", u32)
        place = p.let(p.global_id(0), name="place")
        x[place] = x[place] + 1
    built, read = p.build(), parse(text)
    assert key(built) == key(read) == key(decode(encode(built)))
    read.validate()
    assert key(read) == key(built)


def test_what_does_not_change_the_code_does_not_change_the_key() -> None:
    config = DispatchConfig(label="x", timeout=3.0, profile="y", max_output_bytes=9, grid_override=(1, 2, 3))
    assert key(adding(), config) == key(adding())


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(type(generous_target()))])
def test_all_of_a_target_is_described(field: str) -> None:
    value = getattr(generous_target(), field)
    others = {
        tuple: (Pass("x", "y", lambda program, context: program),),
        str: "x",
        bool: not value,
        frozenset: frozenset([1]),
        Groups: next(g for g in Groups if g is not value),
    }
    other = others[type(value)]  # type: ignore[index]
    changed = dataclasses.replace(generous_target(), **{field: other})
    assert describe_target(changed) != describe_target(generous_target())


def test_the_description_of_a_target_does_not_depend_on_the_process() -> None:
    code = (
        "from vyre_driver.pipeline.key import describe_target; from vyre_driver.testing.target import generous_target;"
        "print(describe_target(generous_target()))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert " at 0x" not in texts.pop()
