"""Who is installed and who is chosen: over registrations made by hand and over distributions made on disk."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from vyre_driver.backend.ops import core_supported_ops
from vyre_driver.backend.registration import Availability, BackendRegistration, Selection
from vyre_driver.errors import BackendUnavailable, DuplicateBackend, InvalidInput, UnknownBackend
from vyre_driver.registry import backends
from vyre_driver.registry.discovery import GROUP
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.registration import registered
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.plugins import disabled_plugins

Install = Callable[..., None]
REAL = sorted(entry.name for entry in entry_points(group=GROUP))
"""What happens to be installed beside the tests."""


@pytest.fixture(autouse=True)
def _fresh_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only what a test installs: the backends that happen to be beside us are disabled, or looked past."""
    monkeypatch.setenv("VYRE_DISABLE_PLUGINS", "all")
    monkeypatch.setattr(backends, "disabled_plugins", lambda group: ())
    backends.refresh()
    yield
    backends.refresh()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a distribution with one entry point that is found from now on; the real ones are left out."""
    monkeypatch.setenv("VYRE_DISABLE_PLUGINS", ",".join(REAL))
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(id: str, source: str, *, distribution: str = "", version: str = "2.5", name: str = "") -> None:
        distribution = distribution or f"vyre-{id}"
        module = distribution.replace("-", "_") + "_plugin"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(source), "utf-8")
        info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[vyre.backends]\n{name or id} = {module}:registration\n", "utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
        backends.refresh()

    return install


def plugin(id: str, *, precedence: int = 10, contract: str = "1", probe: str = "Availability.available()") -> str:
    return f"""
        from vyre_driver.backend.registration import Availability, BackendRegistration

        def make():
            from vyre_driver.testing.mock import MockBackend
            return MockBackend(lambda plan, memory: None, {id!r})

        registration = BackendRegistration(
            id={id!r}, precedence={precedence}, contract={contract}, factory=make, probe=lambda: {probe}
        )
    """


def hand_made(
    id: str,
    precedence: int = 10,
    availability: Availability | Exception | None = None,
    selection: Selection = Selection.AUTOMATIC,
) -> BackendRegistration:
    def probe() -> Availability:
        if isinstance(availability, Exception):
            raise availability
        return availability or Availability.available()

    return BackendRegistration(
        id=id,
        precedence=precedence,
        contract=1,
        factory=lambda: MockBackend(lambda plan, memory: None, id),
        probe=probe,
        selection=selection,
    )


# ── by hand ──


def test_order_is_by_precedence_then_by_id() -> None:
    with registered(hand_made("c", 1), hand_made("b", 5), hand_made("a", 5), hand_made("d", 0)):
        assert [r.id for r in backends.registered_backends_by_precedence()] == ["d", "c", "a", "b"]
        assert [r.id for r in backends.registered_backends()] == ["a", "b", "c", "d"]
    assert backends.registered_backends() == ()


def test_an_id_is_taken_once() -> None:
    with registered(hand_made("a")), pytest.raises(DuplicateBackend) as caught:
        backends.register(hand_made("a"))
    assert str(caught.value).startswith("backend 'a' is registered by an earlier registration and by this call. Fix:")


def test_an_id_that_is_installed_is_taken_and_says_by_which_distribution(install: Install) -> None:
    install("a", plugin("a"), distribution="acme-a")
    with pytest.raises(DuplicateBackend) as caught:
        backends.register(hand_made("a"))
    assert str(caught.value) == (
        "backend 'a' is registered by the distribution acme-a (acme_a_plugin:registration) and by this call. "
        "Fix: choose another id, or pip uninstall acme-a"
    )
    assert backends.origin_of("b") is None
    with registered(hand_made("b")):
        assert backends.origin_of("b") is None


def test_acquire_makes_a_fresh_backend() -> None:
    with registered(hand_made("a")):
        first, second = backends.acquire("a"), backends.acquire("a")
        assert first.id() == "a"
        assert first is not second


def test_acquire_an_unknown_id_lists_what_there_is() -> None:
    with registered(hand_made("b"), hand_made("a")), pytest.raises(UnknownBackend) as caught:
        backends.acquire("mine")
    assert str(caught.value) == (
        "no backend 'mine' is registered (registered: a, b). Fix: choose one of a, b "
        "(cpu: pip install vyre-driver-cpu; cuda: pip install 'vyre-driver-cuda[cuda12]'; "
        "dask: pip install vyre-distributed; "
        "opencl: pip install vyre-driver-opencl; opencl-gpu: pip install vyre-driver-opencl; "
        "opencl-intel: pip install 'vyre-driver-opencl[intel]'; "
        "reference: pip install vyre-reference)"
    )


def test_acquire_a_well_known_id_says_what_to_install() -> None:
    with pytest.raises(UnknownBackend) as caught:
        backends.acquire("reference")
    assert str(caught.value) == (
        "no backend 'reference' is registered (registered: none). Fix: pip install vyre-reference"
    )


def test_acquire_an_unavailable_one_says_why() -> None:
    gone = Availability.unavailable("no device was found", "plug one in")
    with registered(hand_made("a", availability=gone)):
        assert backends.availability("a") == gone
        with pytest.raises(BackendUnavailable) as caught:
            backends.acquire("a")
    assert str(caught.value) == "backend 'a' is not available: no device was found. Fix: plug one in"


def test_a_probe_that_raises_makes_the_backend_unavailable() -> None:
    with registered(hand_made("a", availability=RuntimeError("oops"))):
        assert backends.availability("a").reason == "its probe raised RuntimeError: oops"
    with registered(hand_made("a", availability=BackendUnavailable("a", "no", fix="do"))):
        assert backends.availability("a") == Availability(False, "no", "do")


@pytest.mark.parametrize("found", ["True", "None"])
def test_a_probe_that_returns_something_else_makes_the_backend_unavailable(install: Install, found: str) -> None:
    install("a", plugin("a", probe=found), distribution="acme-a")
    what = {"True": "a value of type bool", "None": "None"}[found]
    assert backends.availability("a") == Availability(
        False, f"its probe returned {what}, expected an Availability", "report it to the authors of acme-a"
    )


def test_an_unavailable_backend_without_a_reason_is_reported() -> None:
    with registered(hand_made("a", availability=Availability(False))), pytest.raises(BackendUnavailable) as caught:
        backends.acquire("a")
    words = "backend 'a' is not available: its probe returned no reason. Fix: report it to the backend's authors"
    assert str(caught.value) == words


def test_the_distribution_of_a_probe_that_raises_is_named(install: Install) -> None:
    install("a", plugin("a", probe="[][0]"), distribution="acme-a")
    assert backends.availability("a").fix == "report it to the authors of acme-a"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("None", "its factory returned None, expected a VyreBackend"),
        ("3", "its factory returned a value of type int, expected a VyreBackend"),
        ("make('b')", "its factory returned a backend whose id is 'b', expected 'a'"),
        ("make(None)", "its factory returned a backend whose id is None, expected 'a'"),
    ],
)
def test_a_factory_makes_the_backend_that_is_registered(install: Install, made: str, reason: str) -> None:
    source = plugin("a").replace("def make()", "def make(id)")
    source = source.replace("factory=make", f"factory=lambda: {made}").replace(", 'a')", ", id)")
    install("a", source, distribution="acme-a")
    with pytest.raises(BackendUnavailable) as caught:
        backends.acquire("a")
    assert str(caught.value) == f"backend 'a' is not available: {reason}. Fix: report it to the authors of acme-a"
    with pytest.raises(BackendUnavailable, match="a: backend 'a' is not available: its factory returned"):
        backends.acquire_preferred_dispatch_backend()


@pytest.mark.parametrize("id", ["bad id", "", "a:1", "-a", "ä", "a\n", None, 3])
def test_an_id_has_a_form(id: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        hand_made(id)
    assert str(caught.value) == (
        f"argument 'id': got {id!r}, expected letters, digits, '-', '_' and '.', a letter or a digit first. "
        "Fix: give the backend such an id"
    )


def test_an_installed_backend_with_another_id_is_left_out(install: Install) -> None:
    install("bad", plugin("bad id"))
    install("fine", plugin("fine"))
    assert [r.id for r in backends.registered_backends()] == ["fine"]
    (problem,) = backends.backend_problems()
    assert problem.fix == "give the backend such an id"
    assert problem.reason.startswith("importing 'vyre_bad_plugin:registration' raised InvalidInput: argument 'id': got")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("precedence", "high"), ("contract", "1"), ("contract", True), ("selection", "x"), ("probe", 1)),
        *(("factory", None), ("aot", ("mine-source",)), ("summary", None), ("devices", ("one",))),
    ],
)
def test_a_registration_has_fields_of_their_types(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"argument '{field}': got {value!r}, expected")):
        replace(hand_made("a"), **{field: value})


def test_the_preferred_backend_is_the_best_that_is_available() -> None:
    gone = Availability.unavailable("no device was found", "plug one in")
    with registered(hand_made("a", 1, gone), hand_made("b", 2), hand_made("c", 3)):
        assert backends.acquire_preferred_dispatch_backend().id() == "b"


@pytest.mark.parametrize("error", [RuntimeError("no such queue"), MemoryError("of the device"), SystemExit(3)])
def test_a_factory_that_raises_is_passed_over(error: BaseException) -> None:
    def fail() -> MockBackend:
        raise error

    broken = replace(hand_made("a", 1), factory=fail)
    with registered(broken, hand_made("b", 2)):
        assert backends.acquire_preferred_dispatch_backend().id() == "b"
    with registered(broken), pytest.raises(BackendUnavailable) as caught:
        backends.acquire_preferred_dispatch_backend()
    words = f"a: its factory raised {type(error).__name__}: {error} (report it to the backend's authors)"
    assert words in str(caught.value)


def test_a_stack_that_the_caller_has_used_up_is_no_fault_of_a_backend() -> None:
    """A backend that is passed over for it would be replaced by another, which computes as long as it is."""
    error = RecursionError("maximum recursion depth exceeded")

    def fail() -> MockBackend:
        raise error

    probe, factory = hand_made("a", 1, error), replace(hand_made("a", 1), factory=fail)
    for broken in (probe, factory):
        with registered(broken, hand_made("b", 2)), pytest.raises(RecursionError):
            backends.acquire_preferred_dispatch_backend()
    with registered(probe), pytest.raises(RecursionError):
        backends.availability("a")


@pytest.mark.parametrize("error", ["RecursionError", "MemoryError"])
def test_what_the_caller_has_used_up_is_no_fault_of_a_plugin(error: str, install: Install) -> None:
    install("bad", f"raise {error}")
    with pytest.raises((RecursionError, MemoryError)):
        backends.backend_problems()


def test_only_the_chosen_backend_is_made() -> None:
    made = []

    def make(id: str) -> BackendRegistration:
        backend = hand_made(id, precedence={"a": 1, "b": 2}[id])
        return BackendRegistration(
            id=id,
            precedence=backend.precedence,
            contract=1,
            factory=lambda: made.append(id) or backend.factory(),  # type: ignore[func-returns-value]
            probe=backend.probe,
        )

    with registered(make("a"), make("b")):
        backends.acquire_preferred_dispatch_backend()
    assert made == ["a"]


def test_a_backend_that_wants_to_be_named_is_never_picked_silently() -> None:
    gone = Availability.unavailable("no device was found", "plug one in")
    oracle = hand_made("oracle", 0, selection=Selection.BY_NAME)
    with registered(oracle, hand_made("a", 1, gone), hand_made("b", 2, RuntimeError("oops"))):
        assert backends.acquire("oracle").id() == "oracle"
        with pytest.raises(BackendUnavailable) as caught:
            backends.acquire_preferred_dispatch_backend()
    text = str(caught.value)
    assert "a: backend 'a' is not available: no device was found (plug one in)" in text
    assert "b: backend 'b' is not available: its probe raised RuntimeError: oops" in text
    assert "oracle:" not in text
    assert text.endswith("or name one that never stands in by itself: acquire('oracle')")


def test_nothing_installed_at_all() -> None:
    with pytest.raises(BackendUnavailable) as caught:
        backends.acquire_preferred_dispatch_backend()
    assert "no backend that may be chosen without its name is installed. Fix: install or repair a backend (" in str(
        caught.value
    )


def test_a_copy_of_the_packages_has_no_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
    backends.refresh()
    with pytest.raises(BackendUnavailable) as caught:
        backends.acquire_preferred_dispatch_backend()
    fix = (
        "Fix: if vyre has been copied here, copy the .dist-info folders of its distributions too; otherwise install or"
    )
    assert fix in str(caught.value)
    with pytest.raises(UnknownBackend) as named:
        backends.acquire("cpu")
    assert named.value.fix == (
        "if vyre has been copied here, copy the .dist-info folders of its distributions too; otherwise "
        "pip install vyre-driver-cpu"
    )


def test_core_ops_are_the_language_s() -> None:
    assert core_supported_ops() == {op.id for op in OPS.values() if op.tier is Tier.LANGUAGE}


# ── installed ──


def test_a_stranger_s_backend_is_found(install: Install) -> None:
    install("zeta", plugin("zeta", precedence=1))
    install("alpha", plugin("alpha", precedence=1))
    assert [r.id for r in backends.registered_backends_by_precedence()] == ["alpha", "zeta"]
    assert backends.acquire_preferred_dispatch_backend().id() == "alpha"
    assert backends.backend_problems() == ()


@pytest.mark.parametrize("order", ["dbca", "acdb", "bdac"])
def test_the_order_is_not_that_of_installation(order: str, install: Install) -> None:
    ranks = {"a": 5, "b": 5, "c": 1, "d": 9}
    for id in order:
        install(id, plugin(id, precedence=ranks[id]))
    assert [r.id for r in backends.registered_backends_by_precedence()] == ["c", "a", "b", "d"]


def test_discovery_happens_once(install: Install, tmp_path: Path) -> None:
    install("once", plugin("once"))
    first = backends.registered_backends()
    (tmp_path / "vyre_once-2.5.dist-info" / "entry_points.txt").unlink()
    assert backends.registered_backends() == first
    backends.refresh()
    assert backends.registered_backends() == ()


@pytest.mark.parametrize(("contract", "older"), [("2", "vyre-driver"), ("0", "vyre-skewed")])
def test_a_skewed_plugin_is_skipped(install: Install, contract: str, older: str) -> None:
    from vyre_driver import __version__

    install("skewed", plugin("skewed", contract=contract))
    install("fine", plugin("fine"))
    assert [r.id for r in backends.registered_backends()] == ["fine"]
    assert [str(p) for p in backends.backend_problems()] == [
        (
            f"backend 'skewed' of vyre-skewed: vyre-skewed 2.5 implements contract {contract}, "
            f"vyre-driver {__version__} speaks contract 1. Fix: pip install --upgrade {older}"
        )
    ]
    with pytest.raises(BackendUnavailable) as caught:
        backends.acquire("skewed")
    assert caught.value.fix == f"pip install --upgrade {older}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('broken')", "importing 'vyre_bad_plugin:registration' raised RuntimeError: broken"),
        ("raise SystemExit(3)", "importing 'vyre_bad_plugin:registration' raised SystemExit: 3"),
        ("import no_such_module", "raised ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1", "raised AttributeError: module 'vyre_bad_plugin' has no attribute 'registration'"),
        ("registration = 1", "'vyre_bad_plugin:registration' is a value of type int, not a BackendRegistration"),
        (plugin("other"), "the entry point 'bad' registers the id 'other'"),
    ],
)
def test_a_bad_plugin_harms_nobody_else(install: Install, source: str, reason: str) -> None:
    install("bad", source)
    install("fine", plugin("fine"))
    assert [r.id for r in backends.registered_backends()] == ["fine"]
    (problem,) = backends.backend_problems()
    assert (problem.id, problem.distribution) == ("bad", "vyre-bad")
    assert reason in problem.reason
    assert problem.fix
    with pytest.raises(BackendUnavailable):
        backends.acquire("bad")


def test_two_distributions_with_one_id_are_both_left_out(install: Install) -> None:
    install("twin", plugin("twin"), distribution="vyre-one")
    install("twin", plugin("twin"), distribution="vyre-two")
    assert backends.registered_backends() == ()
    (problem,) = backends.backend_problems()
    assert str(problem) == (
        "backend 'twin' of vyre-two: vyre-one registers the same id, so none of them is used. "
        "Fix: pip uninstall vyre-one or pip uninstall vyre-two"
    )


def test_problems_are_part_of_the_story_when_nothing_is_available(install: Install) -> None:
    install("bad", "raise RuntimeError('broken')")
    with pytest.raises(BackendUnavailable, match="bad: importing 'vyre_bad_plugin:registration' raised RuntimeError"):
        backends.acquire_preferred_dispatch_backend()


def test_plugins_can_be_left_out(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("a", plugin("a"))
    install("b", plugin("b"))
    for value, left in [
        (",".join([*REAL, " b"]), ["a"]),
        ("1", []),
        ("all", []),
        ("ALL ", []),
        (",".join([*REAL, "A"]).upper(), ["b"]),
    ]:
        monkeypatch.setenv("VYRE_DISABLE_PLUGINS", value)
        backends.refresh()
        assert [r.id for r in backends.registered_backends()] == left


def test_listing_backends_loads_no_device_library() -> None:
    """In a process of its own, with whatever is installed here. Some installations have modules of theirs at start."""
    code = """
        import sys
        before = set(sys.modules)
        import vyre_driver
        vyre_driver.registered_backends_by_precedence()
        vyre_driver.backend_problems()
        print(*{name.partition(".")[0] for name in sys.modules.keys() - before})
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert not {"pyopencl", "cupy", "cuda", "pocl", "wgpu"} & set(ran.stdout.split())


@pytest.mark.skipif(not REAL, reason="no backend is installed beside this layer")
def test_the_variable_that_disables_backends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "disabled_plugins", disabled_plugins)
    with pytest.raises(BackendUnavailable) as none_left:
        backends.acquire_preferred_dispatch_backend()
    assert f"VYRE_DISABLE_PLUGINS disables {', '.join(REAL)}" in none_left.value.message
    assert none_left.value.fix.startswith("unset VYRE_DISABLE_PLUGINS, or install")
    for value in ("all", ",".join(REAL)):
        monkeypatch.setenv("VYRE_DISABLE_PLUGINS", value)
        with pytest.raises(UnknownBackend, match="Fix: VYRE_DISABLE_PLUGINS disables it: take it out"):
            backends.acquire(REAL[0])
    with pytest.raises(UnknownBackend, match="Fix: install a backend"):
        backends.acquire("another")
