"""The errors of backends, with one class for each reaction that a caller can choose.

Each class has a number that never changes and is never reused; `code` is the number as text. A class is raised with
facts, as in ``InvalidInput("a", needed="8 bytes", got="6 bytes")``, from which it makes the message and the remedy.
`fix` replaces the default remedy. `fields` has the facts by the names of the constructor's parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from vyre_foundation.errors import VyreError
from vyre_foundation.ir.origin import Origin
from vyre_foundation.validate import facts


class BackendError(VyreError):
    """The base class of the errors of backends, of the registry, and of the planning of dispatches."""

    number: ClassVar[int] = 1000
    remedy: ClassVar[str] = "look at the message"
    code = "E1000"

    def __init__(self, message: str, *, fix: str = "", where: str = "", **fields: Any) -> None:
        super().__init__(message, fix=fix or self.remedy, where=where, **fields)

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.code = f"E{cls.number}"

    @property
    def step(self) -> int | None:
        """The position of the failed step in a sequence of resident dispatches; None if unknown."""
        step: int | None = self.fields.get("step")
        return step

    def at_step(self, step: int) -> BackendError:
        """Set the position of the failed step, and return the error."""
        self.fields = {**self.fields, "step": step}
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.fix, self.where, dict(self.fields))


def _restore(cls: type[BackendError], message: str, fix: str, where: str, fields: dict[str, Any]) -> BackendError:
    """A pickled error again; subclasses have constructors of their own, so the base one is called."""
    error = cls.__new__(cls)
    VyreError.__init__(error, message, fix=fix, where=where, **fields)
    return error


class DeviceOutOfMemory(BackendError):
    """The device does not have the memory that a dispatch needs."""

    number = 1001
    remedy = "use smaller buffers, or split the dispatch"

    def __init__(self, requested: int, available: int | None = None, *, fix: str = "", where: str = "") -> None:
        rest = "" if available is None else f", {available} are available"
        message = f"the device is out of memory: {requested} bytes are needed{rest}"
        super().__init__(message, fix=fix, where=where, requested=requested, available=available)


class UnsupportedFeature(BackendError):
    """The backend does not support a feature that the program or the configuration needs; `name` lists all of them."""

    number = 1002
    remedy = "ask the backend's capability queries first, or choose another backend"

    def __init__(self, name: str, *, backend: str, fix: str = "", where: str = "") -> None:
        super().__init__(f"{backend} does not support {name}", fix=fix, where=where, name=name, backend=backend)


class PoisonedState(BackendError):
    """An earlier failure of a pipeline left its persistent memory in an unknown state; `reason` is that failure."""

    number = 1003
    remedy = "compile the program again: its persistent memory begins at zero then"

    def __init__(self, backend: str, reason: str, *, fix: str = "", where: str = "") -> None:
        message = f"{backend} cannot go on after an earlier failure: {reason}"
        super().__init__(message, fix=fix, where=where, backend=backend, reason=reason)


class KernelCompileFailed(BackendError):
    """The target's compiler refused emitted source. `log` is its output, `source` the source, `where` the position."""

    number = 1004
    remedy = "report the program with the emitted `source` and the compiler's `log`: valid programs must compile"

    def __init__(self, backend: str, log: str, *, source: str = "", fix: str = "", where: str = "") -> None:
        output = log.strip() or "the compiler gave no message"
        message = f"the compiler of {backend} refused the emitted source: {output}"
        super().__init__(message, fix=fix, where=where, backend=backend, log=log, source=source)

    @property
    def log(self) -> str:
        """The output of the compiler; empty if there was none."""
        return str(self.fields["log"])

    @property
    def source(self) -> str:
        """The source that the compiler refused; empty if the backend did not record it."""
        return str(self.fields["source"])


class DispatchFailed(BackendError):
    """The runtime of the device reported a failure; `status` is its number, if it has one."""

    number = 1005
    remedy = "look the reason up in the runtime's documentation; `vyre doctor` checks the installation"

    def __init__(self, reason: str, *, backend: str, status: int | None = None, fix: str = "", where: str = "") -> None:
        number = "" if status is None else f" (status {status})"
        message = f"the dispatch on {backend} failed{number}: {reason}"
        super().__init__(message, fix=fix, where=where, reason=reason, backend=backend, status=status)


class InvalidProgram(BackendError, facts.InvalidProgram):
    """A program that was passed to a backend is invalid. The message lists the first `findings`."""

    number = 1006
    remedy = "repair what the findings name"

    def __init__(self, program: str, findings: Sequence[facts.Finding], *, fix: str = "", where: str = "") -> None:
        found = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        place = where or f"program {program!r}"
        super().__init__(f"not valid, {found}", fix=fix, where=place, program=program, findings=tuple(findings))


class InvalidInput(BackendError, ValueError):
    """An array or another argument does not fit the declarations; the device was not used."""

    number = 1007
    remedy = "pass a buffer that matches the program's declaration"

    def __init__(self, buffer: str, *, needed: str, got: str, fix: str = "") -> None:
        place = f"argument {buffer!r}"
        super().__init__(f"got {got}, expected {needed}", fix=fix, where=place, buffer=buffer, needed=needed, got=got)

    @property
    def buffer(self) -> str:
        """The name of the buffer or argument, or its role and position, such as ``input 0``."""
        return str(self.fields["buffer"])

    @property
    def needed(self) -> str:
        """A description of valid values."""
        return str(self.fields["needed"])

    @property
    def got(self) -> str:
        """A description of the value that the caller passed."""
        return str(self.fields["got"])


class OutputLimitExceeded(BackendError):
    """The outputs of a dispatch exceed `DispatchConfig.max_output_bytes`."""

    number = 1008
    remedy = "raise max_output_bytes, or dispatch less"

    def __init__(self, size: int, limit: int, *, fix: str = "", where: str = "") -> None:
        message = f"the outputs take {size} bytes, max_output_bytes allows {limit}"
        super().__init__(message, fix=fix, where=where, size=size, limit=limit)


class DispatchTimeout(BackendError):
    """The timeout of the configuration has passed, so the dispatch has no outputs.

    The kernel may continue until it ends. The backend stays usable. `try_recover` abandons a device whose work does not
    end.
    """

    number = 1009
    remedy = "raise the timeout, or dispatch less at once"

    def __init__(self, seconds: float, stage: str, *, backend: str, fix: str = "", where: str = "") -> None:
        message = f"the timeout of {seconds:g} s passed during {stage} on {backend}"
        if stage in ("legalization", "emission", "compilation", "the first launch"):
            fix = fix or "raise the timeout, or make the program smaller"
        super().__init__(message, fix=fix, where=where, seconds=seconds, stage=stage, backend=backend)


class DeviceLost(BackendError):
    """The device was lost. Its pipelines and handles are invalid."""

    number = 1010
    remedy = "call try_recover(), then compile and upload again"

    def __init__(self, backend: str, reason: str, *, fix: str = "", where: str = "") -> None:
        message = f"the device of {backend} is lost: {reason}"
        super().__init__(message, fix=fix, where=where, backend=backend, reason=reason)


class Trapped(BackendError):
    """A `trap` ran; of several, the error reports that of the lowest invocation. There are no outputs.

    `origins` are the Python lines that recorded the trap, if they are known. A device records only the tag, so they are
    the lines of all traps with that tag.
    """

    number = 1011
    remedy = "correct what the trap's tag names: an input, or a limit"

    def __init__(
        self,
        tag: str,
        trap_code: int,
        invocation: int,
        *,
        origins: tuple[Origin, ...] = (),
        fix: str = "",
        where: str = "",
    ) -> None:
        line = f", at {' or '.join(map(str, origins))}" if origins else ""
        message = f"invocation {invocation} trapped with {tag!r}, code {trap_code}{line}"
        facts = {"tag": tag, "trap_code": trap_code, "invocation": invocation, "origins": origins}
        super().__init__(message, fix=fix, where=where, **facts)

    @property
    def tag(self) -> str:
        """The text of the trap in the program. Several traps may have the same text."""
        return str(self.fields["tag"])

    @property
    def trap_code(self) -> int:
        """The u32 code of the trap."""
        return int(self.fields["trap_code"])

    @property
    def invocation(self) -> int:
        """The linear global invocation id, ``(gz*GY + gy)*GX + gx`` over the extents of the whole launch."""
        return int(self.fields["invocation"])

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The lines of Python that recorded the trap; empty for a decoded program."""
        found: tuple[Origin, ...] = self.fields["origins"]
        return found


class StaleHandle(BackendError):
    """A pipeline, resource or buffer was used after it was freed, or on a backend that did not make it."""

    number = 1012
    remedy = "make a new one on this backend"

    def __init__(self, handle: str, reason: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"{handle} cannot be used: {reason}", fix=fix, where=where, handle=handle, reason=reason)


class BackendUnavailable(BackendError):
    """A registered backend cannot run on this machine. The remedy comes from its probe."""

    number = 1013
    remedy = "choose another backend"

    def __init__(self, backend: str, reason: str, *, fix: str = "", where: str = "") -> None:
        message = f"backend {backend!r} is not available: {reason}"
        super().__init__(message, fix=fix, where=where, backend=backend, reason=reason)


class UnknownBackend(BackendError, LookupError):
    """No installed distribution registers a backend with this id."""

    number = 1014
    remedy = "choose a registered backend"

    def __init__(self, backend: str, registered: Sequence[str], *, fix: str = "", where: str = "") -> None:
        message = f"no backend {backend!r} is registered (registered: {', '.join(registered) or 'none'})"
        super().__init__(message, fix=fix, where=where, backend=backend, registered=tuple(registered))


class InvalidLaunch(BackendError, ValueError):
    """A configuration or geometry that no backend can launch; `field` names the invalid option."""

    number = 1015
    remedy = "change that field of the configuration"

    def __init__(self, field: str, *, needed: str, got: str, fix: str = "") -> None:
        super().__init__(f"got {got}, expected {needed}", fix=fix, where=field, field=field, needed=needed, got=got)


class ContractMismatch(BackendError, TypeError):
    """A backend class or plugin does not state a contract that this vyre-driver supports."""

    number = 1016
    remedy = "state the contract that the class implements"

    def __init__(self, subject: str, reason: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"{subject} {reason}", fix=fix, where=where, subject=subject, reason=reason)


class DuplicateBackend(BackendError, ValueError):
    """Two registrations have the same id."""

    number = 1017
    remedy = "uninstall one of the two distributions"

    def __init__(self, backend: str, first: str, second: str, *, fix: str = "", where: str = "") -> None:
        message = f"backend {backend!r} is registered by {first} and by {second}"
        super().__init__(message, fix=fix, where=where, backend=backend, first=first, second=second)


class InvalidSetting(BackendError, ValueError):
    """An environment variable has an invalid value."""

    number = 1018
    remedy = "correct the variable, or unset it"

    def __init__(self, variable: str, *, needed: str, got: str, fix: str = "") -> None:
        message = f"got {got!r}, expected {needed}"
        super().__init__(message, fix=fix, where=variable, variable=variable, needed=needed, got=got)


class ShadowDiverged(BackendError):
    """The results of a shadowed dispatch and its reference differ; `capsule` is a file that replays it, or empty."""

    number = 1019
    remedy = "update the backend's device driver, or report the capsule to the backend's authors"

    def __init__(
        self, backend: str, reference: str, difference: str, *, capsule: str = "", fix: str = "", where: str = ""
    ) -> None:
        replay = f"see it again with `vyre replay {capsule}`" if capsule else ""
        super().__init__(
            f"{backend} does not agree with {reference}: {difference}",
            fix=fix or replay,
            where=where,
            backend=backend,
            reference=reference,
            difference=difference,
            capsule=capsule,
        )


class BadCapsule(BackendError, ValueError):
    """A file is not a replay capsule, or was changed."""

    number = 1020
    remedy = "replay a file that a shadowed dispatch has written"

    def __init__(self, file: str, reason: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"{file} is no replay capsule: {reason}", fix=fix, where=where, file=file, reason=reason)


class BadArtifact(BackendError, ValueError):
    """A file is not a compiled program, or this device cannot run it."""

    number = 1022
    remedy = "compile the program again for this device, with `vyre compile`"

    def __init__(self, reason: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"the compiled program cannot be used: {reason}", fix=fix, where=where, reason=reason)


class PolicyDenied(BackendError, PermissionError):
    """A policy of the operator does not allow the program."""

    number = 1021
    remedy = "change the program, or ask for another policy"

    def __init__(self, policy: str, detail: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(
            f"the policy {policy!r} denies it: {detail}", fix=fix, where=where, policy=policy, detail=detail
        )


class ResidentGraphReuseTelemetryError(BackendError, ValueError):
    """Impossible counts of reuse: a negative count, or one that decreased."""

    number = 1023
    remedy = "compare counts of one backend, the earlier ones on the right"

    def __init__(self, count: str, value: int, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"{count} would be {value}", fix=fix, where=where, count=count, value=value)


class InvalidGraph(BackendError, ValueError):
    """A graph is invalid, and nothing has run. The message lists the first `findings`, in recorded order."""

    number = 1024
    remedy = "repair what the findings name"

    def __init__(self, graph: str, findings: Sequence[facts.Finding], *, fix: str = "", where: str = "") -> None:
        found = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        place = where or f"graph {graph!r}"
        super().__init__(f"not valid, {found}", fix=fix, where=place, graph=graph, findings=tuple(findings))

    def __str__(self) -> str:
        return "\n".join((f"{self.where}: {self.message}", *facts.listed(self.findings)))

    @property
    def findings(self) -> tuple[facts.Finding, ...]:
        """All findings, in recorded order."""
        return tuple(self.fields["findings"])


class LaunchCancelled(BackendError):
    """The launch of a graph was cancelled by its caller, and has no outputs."""

    number = 1025
    remedy = "launch the graph again"

    def __init__(self, graph: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"the launch of graph {graph!r} was cancelled", fix=fix, where=where, graph=graph)


class MissingExtra(BackendError, ModuleNotFoundError):
    """A module needs a package that an extra of vyre-driver installs."""

    number = 1026
    remedy = "install the extra"

    def __init__(self, extra: str, module: str, *, fix: str = "", where: str = "") -> None:
        message, fix = f"the package {module!r} is not installed", fix or f"pip install 'vyre-driver[{extra}]'"
        super().__init__(message, fix=fix, where=where, extra=extra, module=module)
        self.name = module  # as of every ModuleNotFoundError


class InvalidOutput(BackendError):
    """A method of a backend returned a result that contradicts the contract or the program."""

    number = 1027
    remedy = (
        "report it to the backend's authors: a dispatch returns a list with one contiguous buffer for each output of "
        "the program, in binding order, of exactly the declared size"
    )

    def __init__(self, backend: str, reason: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"backend {backend!r} returned {reason}", fix=fix, where=where, backend=backend, reason=reason)
