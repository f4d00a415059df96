"""Commands over runs that have ended: reports, differences, certificates."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from vyre_conform.certificate import read_certificate, read_trust, signers
from vyre_conform.certificate import verify as verify_by_replay
from vyre_conform.changes import changes
from vyre_conform.cli import options
from vyre_conform.coverage import in_words
from vyre_conform.report import Report
from vyre_conform.run import Exit, read_run, write_run
from vyre_conform.run import merge as merged
from vyre_conform.show import show

kills_option = click.option("--kills", type=options.IN, metavar="FILE", help="What `controls --json` has written.")


@click.command()
@click.argument("run", type=options.IN)
@kills_option
@click.option("--executed", is_flag=True, help="Also which kinds of nodes were executed, and by name which were not.")
@options.written
def report(run: Path, kills: Path | None, executed: bool, **files: Any) -> None:
    """Show the RUN that a file of `run --journal` holds, or write it in other forms."""
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
@click.option("--json", "as_json", is_flag=True, help="As a JSON list.")
def diff(before: Path, after: Path, as_json: bool) -> None:
    """Show the cells that ended differently in two runs. Status 1 if one of them is worse AFTER."""
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
@click.option("--journal", required=True, type=options.OUT, metavar="FILE", help="The file of the whole run.")
def merge(shards: tuple[Path, ...], journal: Path) -> None:
    """Make one run out of the runs over all SHARDS of it."""
    with options.usage():
        whole = merged([read_run(shard) for shard in shards])
    write_run(whole, journal)
    show(Report(whole), options.console())
    sys.exit(whole.exit)


@click.command()
@click.argument("run", type=options.IN)
@click.option("--certificate", required=True, type=options.OUT, metavar="FILE", help="Where it goes.")
@click.option("--sign", "key", type=options.IN, metavar="KEY", help="Sign it with this PEM key (Ed25519).")
@kills_option
def certify(run: Path, certificate: Path, key: Path | None, kills: Path | None) -> None:
    """Certify the RUN that a file of `run --journal` holds, or say why it proves nothing."""
    with options.usage():
        found = Report(read_run(run), options.read_kills(kills))
    options.write(found, sys.argv[1:], json_file=None, junit=None, html=None, certificate=certificate, key=key)
    click.echo(f"{certificate}: {read_certificate(certificate).digest}")


@click.command()
@click.argument("certificate", type=options.IN)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Judge N cases again, not all.")
@click.option("--backend", "backends", multiple=True, metavar="ID", help="Only this backend; may be repeated. [all]")
@click.option("--on", metavar="ID", help="Judge the cases on this backend instead.")
@click.option("--trust", type=options.IN, metavar="FILE", help="Public keys, one of which must have signed.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON.")
def verify(
    certificate: Path, sample: int | None, backends: tuple[str, ...], on: str | None, trust: Path | None, as_json: bool
) -> None:
    """Judge the cells of a CERTIFICATE again, here and now. Status 1 if anything ends otherwise."""
    with options.usage():
        document = read_certificate(certificate)
        names = signers(document, read_trust(trust)) if trust is not None else []
    if unknown := set(backends) - set(document.body["cells"]):
        raise click.UsageError(f"it says nothing about {', '.join(sorted(unknown))}. Fix: name one of "
                               + ", ".join(document.body["cells"]))  # fmt: skip
    results = [verify_by_replay(document, b, on=on, sample=sample) for b in backends or document.body["cells"]]
    holds = all(result.holds for result in results) and (trust is None or bool(names))
    if as_json:
        facts = [
            {"backend": r.backend, "on": on or r.backend, "replayed": r.replayed, "certified": r.certified,
             "differing": [cell.to_json() for cell in r.differing], "missing": r.missing, "beyond": r.beyond}
            for r in results
        ]  # fmt: skip
        click.echo(
            json.dumps({"holds": holds, "signers": names, "digest": document.digest, "backends": facts}, indent=1)
        )
        sys.exit(Exit.PROVEN if holds else Exit.FAILED)
    if trust is not None:
        click.echo(f"signed by {', '.join(names)}" if names else "signed by nobody who is trusted")
    elif document.signatures:
        click.echo(f"{len(document.signatures)} signatures, not looked at: there is no --trust")
    else:
        click.echo("not signed: what it says is what the replay shows")
    for found in results:
        click.echo(f"{found.backend} on {on or found.backend}: {found.replayed} of {found.certified} cells judged "
                   f"again, {len(found.differing)} differ, {len(found.missing)} are not there any more")  # fmt: skip
        if found.beyond:
            click.echo(f"  {found.beyond} that were skipped there are judged here, and pass")
        for cell in found.differing[:20]:
            click.echo(f"  {cell.state.value}  {cell.address}  {cell.reason}")
    click.echo("it holds" if holds else "it does not hold")
    sys.exit(Exit.PROVEN if holds else Exit.FAILED)
