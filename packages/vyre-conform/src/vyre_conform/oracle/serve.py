"""A process that works cases out: ``python -m vyre_conform.oracle`` takes addresses and gives cases with verdicts."""

from __future__ import annotations

import faulthandler
import pickle

from vyre_conform.case import Case
from vyre_conform.oracle.verdict import Verdict, settle
from vyre_conform.suite import find
from vyre_conform.worker.inbox import Inbox, private_streams
from vyre_conform.worker.protocol import send


def main() -> int:
    """Serve until the parent closes its end, or has gone."""
    faulthandler.enable()
    commands, answers = private_streams()
    inbox = Inbox(commands)
    while (taken := inbox.take()) is not None:
        message, _ = taken
        found = work_out(message["case"], message["seed"], message["seconds"])
        try:
            send(answers, {}, [pickle.dumps(found)])
        except BrokenPipeError:
            break
    return 0


def work_out(address: str, seed: int, seconds: float) -> tuple[Case, Verdict] | Exception:
    """The case of an address, and the verdict on it; or what went wrong in the suite itself."""
    try:
        case = find(address).case(seed)
        return case, settle(case, seconds=seconds)
    except Exception as error:
        return error
