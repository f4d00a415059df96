"""What is recorded, and what is not worth it."""

from types import SimpleNamespace
from typing import Any

from vyre_driver.engine.launch import Backlog
from vyre_driver.engine.sequence import Segments


class Launched:
    """As much of a prepared launch as a part looks at."""

    def __init__(self, order: tuple[int, ...]) -> None:
        self.order, self.enqueue = order, lambda *_: None


class Port:
    """Notes what it is asked."""

    records = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def record(self, enqueue: object) -> str:
        self.asked.append("record")
        return "recording"

    def replay(self, recording: str) -> None:
        self.asked.append(recording)


def play(*orders: tuple[int, ...] | None) -> list[str]:
    """What the port is asked when launches of these orders run twice."""
    launches: list[Any] = [None if order is None else Launched(order) for order in orders]
    steps: list[Any] = [None] * len(orders)
    device: Any = SimpleNamespace(port=Port(), counters=SimpleNamespace(launches=0, fills=0, replays=0, waits=0))
    Segments(launches).play(
        device, steps, 2, lambda step: SimpleNamespace(prepared=launches[0]), Backlog(device), is_new=False
    )
    asked: list[str] = device.port.asked
    return asked


def test_launches_that_stay_the_same_are_recorded() -> None:
    assert play((0,), ()) == ["record", "recording"]  # of both iterations


def test_a_sequence_that_launches_nothing_is_not_recorded() -> None:
    assert play((), ()) == []


def test_an_order_that_the_host_decides_is_not_recorded() -> None:
    assert play((0,), None) == []
