"""Several devices of one backend: they are listed, opened by index, and used side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from vyre_driver import BackendRegistration, DeviceFactory, EngineBackend, acquire, devices
from vyre_driver.backend.registration import Availability
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import BackendUnavailable, InvalidLaunch, StaleHandle, UnknownBackend, UnsupportedFeature
from vyre_driver.observe.live import backend_for
from vyre_driver.registry.backends import device_names, split_device
from vyre_driver.registry.listing import DeviceListing, DeviceListings, _profile_of
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.registration import registered
from vyre_driver.testing.target import generous_profile
from vyre_foundation.testing.html import parsed

ID = "fake-several"
opened: list[int] = []


def open_backend(index: int = 0) -> EngineBackend:
    opened.append(index)
    return EngineBackend(ID, lambda: FakePort(lambda plan, memory: None))


@pytest.fixture(autouse=True)
def several() -> Iterator[None]:
    opened.clear()
    made = BackendRegistration(
        id=ID,
        precedence=900,
        contract=1,
        factory=open_backend,
        probe=Availability.available,
        devices=DeviceFactory(lambda: ("first", "second", "third"), open_backend),
    )
    with registered(made):
        yield


@pytest.mark.parametrize(
    ("name", "found"),
    [("opencl", ("opencl", None)), ("opencl:1", ("opencl", 1)), ("cpu:host", ("cpu:host", None)), (":1", (":1", None))],
)
def test_names_of_devices(name: str, found: tuple[str, int | None]) -> None:
    assert split_device(name) == found


def test_a_device_is_opened_by_index() -> None:
    assert device_names(ID) == ("first", "second", "third")
    for backend in (acquire(ID), acquire(f"{ID}:2"), acquire(ID, 1)):
        assert backend.id() == ID
    assert opened == [0, 2, 1]


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(BackendUnavailable, match=rf"no device 3, only {ID}:0 \(first\).*Fix: name one of them"):
        acquire(f"{ID}:3")
    with pytest.raises(BackendUnavailable, match="no device -1"):
        acquire(ID, -1)
    with pytest.raises(UnknownBackend, match="'nothing'"):
        acquire("nothing:0")
    for name, index in ((f"{ID}:1", 1), (ID, True), (ID, "1")):
        with pytest.raises(InvalidLaunch, match=r"expected an index of a device.*Fix: pass acquire"):
            acquire(name, index)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [None, "first", (1, 2), 3])
def test_devices_have_names(names: object) -> None:
    made = BackendRegistration(
        id="fake-nameless",
        precedence=902,
        contract=1,
        factory=open_backend,
        probe=Availability.available,
        devices=DeviceFactory(lambda: names, open_backend),  # type: ignore[arg-type, return-value]
    )
    with registered(made), pytest.raises(BackendUnavailable, match=r"its list of devices is .*expected a sequence"):
        device_names("fake-nameless")


def test_a_device_is_opened_as_the_backend_that_is_registered() -> None:
    made = BackendRegistration(
        id="fake-empty",
        precedence=902,
        contract=1,
        factory=open_backend,
        probe=Availability.available,
        devices=DeviceFactory(lambda: ("first",), lambda index: None),  # type: ignore[arg-type, return-value]
    )
    with registered(made), pytest.raises(BackendUnavailable, match="its factory returned None, expected a VyreBackend"):
        acquire("fake-empty:0")


def test_a_backend_of_one_device_has_the_index_0() -> None:
    assert device_names("reference") == ("",)
    assert acquire("reference:0").id() == "reference"
    with pytest.raises(BackendUnavailable, match="no device 1, only reference:0"):
        acquire("reference:1")


def test_handles_belong_to_one_device() -> None:
    first, second = acquire(f"{ID}:0"), acquire(f"{ID}:1")
    handle = first.allocate_resident(4)
    with pytest.raises(StaleHandle, match="is another one"):
        second.upload_resident(handle, b"1234")
    first.upload_resident(handle, b"1234")
    assert bytes(first.download_resident(handle)) == b"1234"


def test_a_device_is_opened_once_for_a_process() -> None:
    assert backend_for(f"{ID}:1") is backend_for(f"{ID}:1")
    assert backend_for(f"{ID}:1") is not backend_for(f"{ID}:2")
    assert backend_for(ID) is backend_for(f"{ID}:0")
    assert backend_for(f"{ID}:0") is backend_for(f"{ID}:00")
    assert opened == [1, 2, 0]


@pytest.mark.parametrize("names", [("reference", "reference:0"), ("reference:0", "reference")])
def test_both_names_of_a_single_device_are_one(names: tuple[str, str]) -> None:
    first, second = map(backend_for, names)
    assert first is second


def test_a_backend_is_the_first_of_its_devices_that_works() -> None:
    def opening(index: int = 0) -> EngineBackend:
        def port() -> FakePort:
            if index == 0:
                raise BackendUnavailable(id, "it is broken", fix="repair it")
            return FakePort(lambda plan, memory: None)

        return EngineBackend(id, port)

    id = "fake-broken"
    made = BackendRegistration(
        id=id,
        precedence=901,
        contract=1,
        factory=lambda: opening(1),
        probe=Availability.available,
        devices=DeviceFactory(lambda: ("first", "second"), opening),
    )
    with registered(made):
        assert backend_for(id) is backend_for(f"{id}:1")


def test_devices_are_listed_with_their_profiles() -> None:
    (found,) = devices("reference")
    assert (found.backend, found.index, found.address) == ("reference", 0, "reference:0")
    assert found.profile == acquire("reference").device_profile()
    assert found.identity == acquire("reference").device_profile().identity
    with pytest.raises(UnknownBackend):
        devices("nothing")


@pytest.mark.parametrize("packed", ["frozen", "compiled", "embedded"])
def test_an_application_is_not_started_again_as_an_interpreter(packed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller and cx_Freeze set `sys.frozen`, Nuitka `__compiled__`; a host of its own may have no interpreter."""
    if packed == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif packed == "compiled":
        monkeypatch.setattr(sys.modules["__main__"], "__compiled__", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("it was started"))
    with pytest.raises(UnsupportedFeature) as error:
        devices("reference")
    assert str(error.value) == (
        "this application does not support starting a Python process: its executable is not an interpreter. "
        "Fix: do it in the environment from which the application was built"
    )


def test_listed_devices_are_a_table_in_notebooks() -> None:
    found = DeviceListings(
        (
            DeviceListing(backend="fast", index=0, name="a <big> one", profile=generous_profile()),
            DeviceListing(backend="fast", index=1, name="", profile=None, reason="it is busy"),
        )
    )
    assert repr(found) == "<2 devices: fast:0, fast:1>"
    text = " ".join(parsed(found._repr_html_()).text)
    assert all(words in text for words in ("fast:0", "a <big> one", "works", "fast:1", "it is busy"))


def test_a_backend_that_another_process_does_not_know_has_a_reason() -> None:
    (found,) = devices(ID)
    assert found.profile is None
    assert found.identity is None
    assert f"no backend {ID!r} is registered" in found.reason


def test_profiles_come_back_from_json_as_they_were() -> None:
    import json
    from dataclasses import asdict
    from enum import Enum

    for profile in (generous_profile(), DeviceProfile(backend="x")):
        plain = {name: value.value if isinstance(value, Enum) else value for name, value in asdict(profile).items()}
        assert _profile_of(json.loads(json.dumps(plain))) == profile
    assert _profile_of(None) is None
