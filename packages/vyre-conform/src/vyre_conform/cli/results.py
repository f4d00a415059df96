"""Commands over runs that have ended: reports, differences, certificates."""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from vyre_conform.certificate import (
    TRUST,
    Certificate,
    Verification,
    read_certificate,
    read_trust,
    signers,
    verify as verify_by_replay,
)
from vyre_conform.certificate.verify import SEED_BITS
from vyre_conform.changes import changes
from vyre_conform.cli import options
from vyre_conform.coverage import in_words
from vyre_conform.gaps import read_gaps
from vyre_conform.oracle.missing import missing
from vyre_conform.report import Report
from vyre_conform.run import Exit, merge as merged, read_run, write_run
from vyre_conform.show import SHOWN, about, show

kills_option = click.option("--kills", type=options.IN, metavar="FILE", help="Result of `controls --json`.")


@click.command()
@click.argument("run", type=options.IN)
@kills_option
@click.option("--executed", is_flag=True, help="Also report which kinds of nodes were executed, and which were not.")
@options.written
def report(run: Path, kills: Path | None, executed: bool, **files: Any) -> None:
    """Print or convert the report of RUN, a journal of `run`."""
    options.require_writable(**files)
    with options.usage():
        found = Report(read_run(run), options.read_kills(kills))
    show(found, options.console())
    if executed:
        click.echo("\n".join(in_words(found.executed)))
    options.write(found, sys.argv[1:], **files)
    sys.exit(found.exit)


@click.command()
@click.argument("before", type=options.IN)
@click.argument("after", type=options.IN)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def diff(before: Path, after: Path, as_json: bool) -> None:
    """Print the cells whose results differ between two runs; exit code 1 if one is worse in AFTER."""
    with options.usage():
        found = changes(read_run(before), read_run(after))
    if as_json:
        pairs = [[cell.to_json() if cell else None for cell in (c.before, c.after)] for c in found]
        click.echo(json.dumps(pairs, indent=1, ensure_ascii=False))
    else:
        for change in found:
            click.echo(f"{'worse ' if change.is_worse else ''}{change}")
        click.echo(f"{len(found)} cells differ")
    sys.exit(Exit.FAILED if any(change.is_worse for change in found) else Exit.PROVEN)


@click.command()
@click.argument("shards", nargs=-1, required=True, type=options.IN)
@click.option("--journal", required=True, type=options.OUT, metavar="FILE", help="Journal to write.")
def merge(shards: tuple[Path, ...], journal: Path) -> None:
    """Merge the journals of all SHARDS of a run."""
    options.require_writable(journal=journal)
    with options.usage():
        whole = merged([read_run(shard) for shard in shards])
        write_run(whole, journal)
    show(Report(whole), options.console())
    sys.exit(whole.exit)


@click.command()
@click.argument("run", type=options.IN)
@click.option("--certificate", required=True, type=options.OUT, metavar="FILE", help="Certificate to write.")
@click.option("--sign", "key", type=options.IN, metavar="KEY", help="Sign the certificate with this PEM key (Ed25519).")
@kills_option
def certify(run: Path, certificate: Path, key: Path | None, kills: Path | None) -> None:
    """Certify RUN, a journal of `run`, or report why it proves nothing."""
    options.require_writable(certificate=certificate)
    with options.usage():
        found = Report(read_run(run), options.read_kills(kills))
    options.write(found, sys.argv[1:], json_file=None, junit=None, html=None, certificate=certificate, key=key)
    click.echo(f"{certificate}: {read_certificate(certificate).digest}")


@click.command()
@click.argument("certificate", type=options.IN)
@click.option(
    "--sample", type=click.IntRange(min=1), metavar="N", help="Run a random sample of N cases instead of all."
)
@click.option("--sample-seed", type=click.IntRange(min=0), metavar="SEED",
              help="Seed of the sample, to repeat an earlier verification. [random]")  # fmt: skip
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="ID",
    help="Backend to verify; by default all in the certificate. Repeatable.",
)
@click.option("--on", metavar="ID", help="Run the cases on this backend instead of the certified one.")
@click.option("--other-device", is_flag=True, help="Allow a device other than the certified one.")
@click.option("--known-gaps", type=options.IN, metavar="FILE", help="TOML file of accepted gaps. [none]")
@click.option(
    "--trust", type=options.IN, metavar="FILE", help="File of trusted public keys, one of which must have signed."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(
    certificate: Path,
    sample: int | None,
    sample_seed: int | None,
    backends: tuple[str, ...],
    on: str | None,
    other_device: bool,
    known_gaps: Path | None,
    trust: Path | None,
    as_json: bool,
) -> None:
    """Run the cells of CERTIFICATE again on this machine.

    Exit code 1 if a result differs, 5 if an opinion was not given in time.
    """
    with options.usage():
        document = read_certificate(certificate)
        names = signers(document, read_trust(trust)) if trust is not None else []
        accepted = read_gaps(known_gaps) if known_gaps else ()
        if unknown := set(backends) - set(document.body["cells"]):
            raise click.UsageError(f"it says nothing about {', '.join(sorted(unknown))}. Fix: name one of "
                                   + ", ".join(document.body["cells"]))  # fmt: skip
        seed = secrets.randbits(SEED_BITS) if sample_seed is None else sample_seed
        results = [
            verify_by_replay(document, b, on=on, other_device=other_device, accepted=accepted, sample=sample, seed=seed)
            for b in dict.fromkeys(backends) or document.body["cells"]
        ]
    is_signed = trust is None or bool(names)
    holds = is_signed and all(result.holds for result in results)
    if as_json:
        facts = {"holds": holds, "signers": names, "digest": document.digest, "sample_seed": seed, "trust": TRUST}
        click.echo(json.dumps(facts | {"backends": [_facts(result) for result in results]}, indent=1))
    else:
        click.echo(f"{document.task.cells} cells a backend: {about(document.task)}")
        click.echo(_signed(document, names, trust is not None))
        for oracle in missing(document.task.versions):
            click.echo(f"weaker cells: {oracle}")
        for found in results:
            _echo(found)
        if sample is not None:
            click.echo(f"the same sample again: --sample {sample} --sample-seed {seed}")
        click.echo(f"as the signer claims: {TRUST['as the signer claims']}")
        click.echo("it holds" if holds else "it does not hold")
    is_refuted = not is_signed or any(result.is_refuted for result in results)
    sys.exit(Exit.PROVEN if holds else Exit.FAILED if is_refuted else Exit.INCOMPLETE)


def _signed(document: Certificate, names: list[str], is_asked: bool) -> str:
    if is_asked:
        return f"signed by {', '.join(names)}" if names else "signed by none of the keys that are trusted"
    if document.signatures:
        return f"{len(document.signatures)} signatures, not looked at: there is no --trust"
    return "not signed: what it says is what the replay shows"


def _echo(found: Verification) -> None:
    click.echo(f"{found.backend} on {found.here}: {found.replayed} of {found.certified} cells judged again, "
               f"{len(found.differing)} differ, {len(found.missing)} are not there any more, "
               f"{len(found.uncertified)} are left out")  # fmt: skip
    if found.device:
        click.echo(f"  judged on {found.device}")
    if found.beyond:
        click.echo(f"  {found.beyond} that were skipped there are judged here, and pass")
    for problem in found.problems:
        click.echo(f"  {problem}")
    for case in found.undecided[:SHOWN]:
        click.echo(f"  undecided: {case}: an opinion did not come in time")
    for address in (*found.missing[:SHOWN], *found.uncertified[:SHOWN]):
        click.echo(f"  not in both: {address}")
    for cell in found.differing[:SHOWN]:
        click.echo(f"  {cell.state.value}  {cell.address}  {cell.reason}")


def _facts(found: Verification) -> dict[str, Any]:
    facts = {f.name: getattr(found, f.name) for f in fields(found)}
    return facts | {"on": found.here, "holds": found.holds, "differing": [cell.to_json() for cell in found.differing]}
