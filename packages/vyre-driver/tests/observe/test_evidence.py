"""Evidence bundles: complete, equal for equal dispatches, and changed by every byte."""

from __future__ import annotations

import json

from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.observe.evidence import EvidenceBundle, ReplayEvidence, config_facts, counted


def bundle(backend, program, words, config=None) -> EvidenceBundle:
    config = config or DispatchConfig()
    before = backend.backend_metric_snapshot()
    result = backend.dispatch_borrowed_timed(program, [words], config)
    counters = counted(before, backend.backend_metric_snapshot())
    replay = ReplayEvidence(command="vyre replay x.zip")
    return EvidenceBundle.of_dispatch(backend, program, [words], config, result, counters=counters, replay=replay)


def test_a_bundle_says_what_ran_where_and_on_what(backend, doubling, words) -> None:
    document = json.loads(bundle(backend, doubling, words, DispatchConfig(grid_override=(2, 1, 1))).to_json())
    assert document["schema"] == 1
    assert (document["backend_id"], document["backend_version"]) == ("full", "1.0")
    assert (document["program"], document["program_digest"]) == ("doubling", doubling.fingerprint())
    assert document["dispatch_policy"] == {"grid_override": [2, 1, 1]}
    assert document["timing"] == {"wall_ns": 1000, "device_ns": 700, "enqueue_ns": 200, "wait_ns": 100}
    assert document["counters"] == {"dispatches": 1}
    assert document["device"]["device"] == "host memory"
    assert document["device"]["timing_quality"] == "device_timestamps"
    assert document["versions"]["vyre-driver"]
    assert document["source"]["source_tree_fingerprint"].startswith("source-tree-v1:")
    assert document["replay"]["command"] == "vyre replay x.zip"


def test_bytes_are_there_as_digests(backend, doubling, words) -> None:
    document = json.loads(bundle(backend, doubling, words).to_json())
    a, out = document["artifacts"]
    assert a == {"kind": "input", "name": "a", "byte_len": 24, "digest": blake3(words).hexdigest(), "path": ""}
    assert (out["kind"], out["name"], out["byte_len"]) == ("output", "out", 24)


def test_equal_dispatches_give_equal_text_and_a_byte_changes_it(backend, doubling, words) -> None:
    first = bundle(backend, doubling, words).to_json()
    assert bundle(backend, doubling, words).to_json() == first
    assert bundle(backend, doubling, b"\1" + words[1:]).to_json() != first


def test_a_configuration_is_told_by_what_is_not_as_by_default() -> None:
    assert config_facts(DispatchConfig()) == {}
    config = DispatchConfig(ulp_budget=2, speculation=Preference.DISABLE, label="x", timeout=1.5)
    assert config_facts(config) == {"ulp_budget": 2, "speculation": "disable", "label": "x", "timeout": 1.5}


def test_what_was_counted_between_two_snapshots() -> None:
    assert counted({"a": 1, "b": 2}, {"a": 1, "b": 5, "c": 1}) == {"b": 3, "c": 1}
