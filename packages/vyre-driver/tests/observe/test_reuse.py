"""Reuse of resident memory: every upload and every read of a run is counted, as by hand."""

from __future__ import annotations

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.errors import ResidentGraphReuseTelemetryError
from vyre_driver.observe.prometheus import BackendMetrics
from vyre_driver.observe.reuse import ResidentGraphReuseTelemetry, ReuseWatch
from vyre_driver.pipeline.compile import compile

Counts = ResidentGraphReuseTelemetry


@pytest.fixture
def watched(backend) -> ReuseWatch:
    return ReuseWatch(backend)


def test_the_first_read_of_an_upload_is_cold_and_the_others_are_warm(watched, doubling, words) -> None:
    given, made = watched.allocate_resident(24), watched.allocate_resident(24)
    watched.upload_resident(given, words)
    watched.dispatch_resident_timed(doubling, [given, made])
    assert watched.telemetry == Counts(cold_uploads=1, upload_bytes=24)
    watched.dispatch_resident_timed(doubling, [given, made])
    watched.dispatch_resident_timed(doubling, [made, given])
    assert watched.telemetry == Counts(cold_uploads=1, upload_bytes=24, warm_reuses=2, avoided_upload_bytes=48)
    assert np.frombuffer(watched.download_resident(given), np.uint32).tolist() == [0, 4, 8, 12, 16, 20]


def test_sequences_count_each_step_as_often_as_it_runs(watched, doubling, words) -> None:
    a, b = watched.allocate_resident(24), watched.allocate_resident(24)
    watched.upload_resident_at_many([(a, 0, words), (b, 4, words[:8])])
    there = ResidentDispatchStep(program=doubling, resources=(a, b))
    back = ResidentDispatchStep(program=doubling, resources=(b, a))
    out = np.empty(6, np.uint32)
    read = [ResidentReadRange(resource=a, byte_offset=0, byte_len=24)]
    watched.dispatch_resident_repeated_sequence_read_ranges_into([there], [back, there], 5, read, [out])
    cold = Counts(cold_uploads=2, upload_bytes=24 + 8)
    assert watched.telemetry == cold + Counts(warm_reuses=11 - 2, avoided_upload_bytes=9 * 24)
    before = watched.telemetry
    watched.dispatch_resident_sequence_read_ranges_into([there, back], read, [out])
    watched.dispatch_resident_sequence_read_ranges_timed_into([there], read, [out])
    assert watched.telemetry - before == Counts(warm_reuses=3, avoided_upload_bytes=72)


def test_pipelines_of_a_watched_backend_are_watched(watched, doubling, words) -> None:
    pipeline = compile(watched, doubling)
    a, b = watched.allocate_resident(24), watched.allocate_resident(24)
    watched.upload_resident_many([(a, words)])
    watched.upload_resident_at(a, 0, words[:4])
    for _ in range(3):
        pipeline.dispatch_resident([a, b])
    pipeline.dispatch_resident_timed([a, b])
    assert watched.telemetry == Counts(cold_uploads=2, upload_bytes=28, warm_reuses=3, avoided_upload_bytes=72)
    watched.free_resident(a)


def test_what_fails_is_not_counted(watched, doubling, words) -> None:
    a = watched.allocate_resident(24)
    with pytest.raises(Exception, match="Fix: "):
        watched.upload_resident(a, words[:8])
    with pytest.raises(Exception, match="Fix: "):
        watched.dispatch_resident_timed(doubling, [a])
    assert watched.telemetry == Counts()


def test_the_counts_are_metrics(backend, doubling, words) -> None:
    metrics = BackendMetrics(CollectorRegistry())
    watched = ReuseWatch(backend)
    metrics.watch(watched)
    watched.upload_resident(watched.allocate_resident(24), words)
    assert 'vyre_driver_cold_uploads_total{backend="full"} 1.0' in metrics.text()


def test_counts_that_cannot_be() -> None:
    words = r"warm_reuses would be -1\. Fix: compare counts"
    with pytest.raises(ResidentGraphReuseTelemetryError, match=words):
        _ = Counts(cold_uploads=3) - Counts(warm_reuses=1)
