"""A backend without a device port: another process runs whole programs, and this one sends it their wire form."""

import os
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import fields, replace
from multiprocessing.connection import Client, Connection, Listener
from queue import SimpleQueue
from threading import Thread

from vyre_driver import (
    Availability,
    BackendError,
    BackendRegistration,
    BackendUnavailable,
    DeviceLost,
    DispatchConfig,
    DispatchTimeout,
    PendingDispatch,
    Selection,
    StaleHandle,
    acquire,
    validate_program_for_backend,
)
from vyre_driver.backend.config import DEFAULT_CONFIG, require_wait
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_foundation import decode, encode

HELLO, PROTOCOL = "hello", "remote 1"  # a server of any version answers to a greeting


class RemoteBackend(HostMemoryBackend, contract=1):  # which keeps resident memory here, and needs only `dispatch`
    def __init__(self):
        super().__init__()
        self._is_shut_down = False
        self._start()

    def id(self):
        return "remote"

    # ── the other process ──

    def _start(self):
        key = os.urandom(16)
        command = [sys.executable, "-P", __file__, key.hex()]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        address = self._server.stdout.readline().strip()
        if not address:
            self._server.communicate()
            raise BackendUnavailable("remote", "its server did not start", fix="see what the server has printed")
        self._pid, self._lost, self._requests = os.getpid(), None, SimpleQueue()
        connection = Client(address, authkey=key)
        Thread(target=self._exchange, args=(connection, self._requests), daemon=True).start()
        protocol, self._profile = self._ask(HELLO).result()
        if protocol != PROTOCOL:
            self.shutdown()
            reason = f"its server speaks {protocol!r}, expected {PROTOCOL!r}"
            raise BackendUnavailable("remote", reason, fix="install the same version on both machines")

    def _exchange(self, connection: Connection, requests):
        """Send and receive on a thread of its own, so that no interrupt or timeout ends a message in the middle."""
        while (request := requests.get()) is not None:
            future, message = request
            try:
                connection.send(message)
                reply = connection.recv()
            except (EOFError, OSError) as error:
                reply = self._lost = DeviceLost("remote", f"its server has ended ({type(error).__name__})")
            if isinstance(reply, BackendError):
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def _ask(self, message):
        if self._is_shut_down or self._pid != os.getpid():
            raise StaleHandle("backend 'remote'", "it was shut down, or opened before a fork", fix="acquire it again")
        if self._lost:
            raise DeviceLost("remote", self._lost.fields["reason"])
        future = Future()
        self._requests.put((future, message))
        return future

    def device_lost(self):
        return self._lost is not None

    def flush(self):
        if not self.device_lost():
            self._ask(HELLO).exception()

    def shutdown(self):
        self._is_shut_down = True
        self._requests.put(None)
        self._server.kill()
        self._server.communicate()

    def try_recover(self):
        self.shutdown()
        self._is_shut_down = False
        self.forget_resources()
        self._start()

    # ── dispatches ──

    def dispatch(self, program, inputs, config=DEFAULT_CONFIG):
        return self.dispatch_async(program, inputs, config).await_result()

    def dispatch_async(self, program, inputs, config=DEFAULT_CONFIG):
        validate_program_for_backend(self, program, config)
        options = {field.name: getattr(config, field.name) for field in fields(config)}
        message = encode(program), [bytes(data) for data in inputs], options
        return Submitted(self._ask(message), config.timeout)

    # ── what the device can do ──

    def device_profile(self):
        return self._profile

    def max_workgroup_size(self):
        return self._profile.max_workgroup_size

    def max_compute_workgroups_per_dimension(self):
        return self._profile.max_workgroups[0]

    def max_compute_invocations_per_workgroup(self):
        return self._profile.max_invocations_per_workgroup


class Submitted(PendingDispatch):
    def __init__(self, future, timeout):
        self._future, self._timeout = future, timeout
        self._started = time.monotonic()

    def is_ready(self):
        return self._future.done()

    def await_result(self, timeout=None):
        require_wait(timeout)
        left = None if self._timeout is None else max(0.0, self._started + self._timeout - time.monotonic())
        try:
            return self._future.result(min((t for t in (timeout, left) if t is not None), default=None))
        except TimeoutError:
            seconds = self._timeout if timeout is None or (left is not None and left < timeout) else timeout
            raise DispatchTimeout(seconds, "a wait for the server", backend="remote") from None


def serve(key):
    """Run on the other machine; a real one computes there, and this one asks the reference."""
    reference = acquire("reference")
    profile = replace(reference.device_profile(), backend="remote", device="another process", supports_grid_sync=False)
    with Listener(authkey=key) as listener:
        sys.stdout.write(f"{listener.address}\n")
        sys.stdout.flush()
        with listener.accept() as connection, suppress(EOFError):
            while True:
                connection.send(answer(reference, profile, connection.recv()))


def answer(reference, profile, message):
    if message == HELLO:
        return PROTOCOL, profile
    program, inputs, options = message
    try:
        return [bytes(out) for out in reference.dispatch(decode(program), inputs, DispatchConfig(**options))]
    except BackendError as error:
        return error


# fmt: off
registration = BackendRegistration(id="remote", precedence=860, contract=1, factory=RemoteBackend,
                                   probe=Availability.available, selection=Selection.BY_NAME)
# fmt: on

if __name__ == "__main__":
    serve(bytes.fromhex(sys.argv[1]))
