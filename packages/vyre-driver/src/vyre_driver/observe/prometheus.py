"""Counters and latencies for Prometheus. Needs the extra ``vyre-driver[prometheus]``.

    metrics = BackendMetrics(registry)
    backend = metrics.watch(acquire_preferred_dispatch_backend())

What a backend counts itself is read when Prometheus asks, and costs nothing between; latencies are taken around each
call. `text()` is the exposition format, for those who serve it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import InvalidInput, MissingExtra
from vyre_driver.observe.calls import CallRecord, observed

try:
    from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest
    from prometheus_client.core import CounterMetricFamily, Metric
    from prometheus_client.registry import Collector
except ModuleNotFoundError as error:
    raise MissingExtra("prometheus", error.name or "prometheus_client") from error

PREFIX = "vyre_driver"
BUCKETS = (1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Seconds, from a warm launch to a compilation on a slow machine."""

# fmt: off
_FAMILIES = {
    # what the engine counts:  (metric,                        label,       value)
    "launches":        ("dispatch_launches",          "",          ""),
    "bytes_in":        ("dispatch_bytes",             "direction", "input"),
    "bytes_out":       ("dispatch_bytes",             "direction", "output"),
    "copies_in":       ("dispatch_copies",            "direction", "input"),
    "copies_out":      ("dispatch_copies",            "direction", "output"),
    "bytes_allocated": ("device_bytes",               "event",     "allocated"),
    "bytes_freed":     ("device_bytes",               "event",     "freed"),
    "allocations":     ("device_allocations",         "event",     "allocated"),
    "frees":           ("device_allocations",         "event",     "freed"),
}
# fmt: on
"""Counts that belong together are one metric with a label; any other count is a metric of its own name."""


class BackendMetrics(Collector):
    """The counts of the backends that it watches, and the seconds that their calls took.

    A registry has one: `InvalidInput` for a second.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._backends: list[VyreBackend] = []
        self._registry = registry
        try:
            self._seconds = Histogram(
                f"{PREFIX}_call_seconds",
                "What a call of a backend took, on the host's clock.",
                ("backend", "kind", "outcome"),
                buckets=BUCKETS,
                registry=registry,
            )
        except ValueError as error:
            fix = "watch all backends with one BackendMetrics, or pass a CollectorRegistry of its own"
            needed, got = "a registry without these metrics", "one that has them"
            raise InvalidInput("registry", needed=needed, got=got, fix=fix) from error
        registry.register(self)

    def watch(self, backend: VyreBackend) -> VyreBackend:
        """`backend`, from now on with its counts here and its calls timed."""
        self._backends.append(backend)
        return observed(backend, self._time)

    def collect(self) -> Iterator[Metric]:
        """Prometheus calls this."""
        families: dict[str, CounterMetricFamily] = {}
        for backend in self._backends:
            for name, count in _counts(backend).items():
                metric, label, value = _FAMILIES.get(name, (name, "", ""))
                labels = ("backend", label) if label else ("backend",)
                family = families.setdefault(
                    metric,
                    CounterMetricFamily(f"{PREFIX}_{metric}", f"Counted by the backend: {metric}.", None, labels),
                )
                family.add_metric((backend.id(), value) if label else (backend.id(),), count)
        yield from families.values()

    def text(self) -> str:
        """Everything of the registry in Prometheus' exposition format."""
        return generate_latest(self._registry).decode()

    @contextmanager
    def _time(self, call: CallRecord) -> Iterator[None]:
        try:
            yield
        finally:
            outcome = "ok" if call.error is None else type(call.error).__name__
            self._seconds.labels(call.backend, call.kind.value, outcome).observe(call.wall_ns / 1e9)


def _counts(backend: VyreBackend) -> dict[str, int]:
    cache = backend.pipeline_cache_snapshot()
    of_cache = {} if cache is None else {"pipeline_cache_hits": cache.hits, "pipeline_cache_misses": cache.misses}
    return {**backend.backend_metric_snapshot(), **of_cache}
