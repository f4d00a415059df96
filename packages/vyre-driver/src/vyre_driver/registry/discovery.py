"""Discovery of installed backends by entry points. A broken entry point does not affect other backends."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint

from vyre_driver.backend.contract import CONTRACT
from vyre_driver.backend.received import kind_of
from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.registry.versions import distribution_version
from vyre_foundation.errors import VyreError, without_remedy
from vyre_foundation.plugins import EXHAUSTED, distribution_name, plugins

GROUP = "vyre.backends"


@dataclass(frozen=True, slots=True)
class BackendProblem:
    """An installed backend that cannot be used, with its distribution, the reason and a remedy."""

    id: str
    distribution: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"backend {self.id!r} of {self.distribution}: {self.reason}. Fix: {self.fix}"


@dataclass(frozen=True, slots=True)
class BackendOrigin:
    """The origin of an installed backend: the distribution, and the ``module:attribute`` of its entry point."""

    distribution: str
    value: str

    def __str__(self) -> str:
        return f"the distribution {self.distribution} ({self.value})"


@dataclass(frozen=True, slots=True)
class Discovery:
    """The results of discovery, by id in alphabetical order."""

    backends: dict[str, BackendRegistration]
    problems: tuple[BackendProblem, ...]
    origins: dict[str, BackendOrigin]


def discover() -> Discovery:
    """Load every entry point of the group. Only the modules of registrations are imported."""
    backends: dict[str, BackendRegistration] = {}
    origins: dict[str, BackendOrigin] = {}
    problems: list[BackendProblem] = []
    for entry in plugins(GROUP):
        origin, loaded = BackendOrigin(distribution_name(entry), entry.value), _load(entry)
        if isinstance(loaded, BackendProblem):
            problems.append(loaded)
        elif loaded.id in origins:
            problems.append(_duplicate(loaded.id, origins[loaded.id].distribution, origin.distribution))
            backends.pop(loaded.id, None)
        else:
            origins[loaded.id] = origin
            backends[loaded.id] = loaded
    found = dict(sorted(backends.items()))
    ordered = tuple(sorted(problems, key=lambda p: (p.id, p.distribution)))
    return Discovery(found, ordered, {id: origins[id] for id in found})


def _load(entry: EntryPoint) -> BackendRegistration | BackendProblem:
    owner = distribution_name(entry)
    try:
        loaded = entry.load()
    except VyreError as error:
        reason = f"importing {entry.value!r} raised {type(error).__name__}: {without_remedy(error)}"
        return BackendProblem(entry.name, owner, reason, error.fix)
    except EXHAUSTED:
        raise
    except (Exception, SystemExit) as error:
        reason = f"importing {entry.value!r} raised {type(error).__name__}: {without_remedy(error)}"
        return BackendProblem(entry.name, owner, reason, f"repair or uninstall it: pip install --upgrade {owner}")
    if not isinstance(loaded, BackendRegistration):
        reason = f"{entry.value!r} is {kind_of(loaded)}, not a BackendRegistration"
        return BackendProblem(entry.name, owner, reason, f"pip install --upgrade {owner}")
    if loaded.id != entry.name:
        reason = f"the entry point {entry.name!r} registers the id {loaded.id!r}"
        return BackendProblem(entry.name, owner, reason, "name the entry point as the backend")
    return _skew(loaded, owner) or loaded


def _skew(registration: BackendRegistration, owner: str) -> BackendProblem | None:
    """Return a problem if the backend implements another version of the contract."""
    if registration.contract == CONTRACT:
        return None
    older = "vyre-driver" if registration.contract > CONTRACT else owner
    reason = (
        f"{owner} {distribution_version(owner)} implements contract {registration.contract}, "
        f"vyre-driver {distribution_version('vyre-driver')} speaks contract {CONTRACT}"
    )
    return BackendProblem(registration.id, owner, reason, f"pip install --upgrade {older}")


def _duplicate(id: str, first: str, second: str) -> BackendProblem:
    reason = f"{first} registers the same id, so none of them is used"
    return BackendProblem(id, second, reason, f"pip uninstall {first} or pip uninstall {second}")
