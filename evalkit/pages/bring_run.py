"""The whole of ``evalkit audit`` and ``evalkit adapt``: one pass over the traces, the cases written on the way."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from evalkit.cases.adapter_stamp import SCHEMA, contract_terms, stamp_path
from evalkit.contract import EvalkitError, Metric, Outcome, sha256_file
from evalkit.mutate.audited import Audit
from evalkit.mutate.traces import AuditOptions, audit
from evalkit.pages.audit_text import adapt_screen, audit_screen
from evalkit.pages.progress import counting
from evalkit.scoring.load import load_metric
from evalkit.scoring.load_adapter import LoadedAdapter, load_adapter
from evalkit.scoring.run import write_whole

__all__ = ["BringDone", "adapt", "run_adapt", "run_audit", "stamp_facts"]


class BringDone(NamedTuple):
    """A finished command."""

    facts: dict[str, Any]
    screen: str
    outcome: Outcome


def run_audit(spec: str, traces: Path, metrics: Sequence[str] = ()) -> BringDone:
    """Audit an adapter; nothing is written."""
    loaded = load_adapter(spec)
    with counting("traces audited") as on_rows:
        found = audit(loaded.adapter, traces, _metrics(metrics), options=AuditOptions(on_rows=on_rows))
    return BringDone(found.facts(), audit_screen(found), found.outcome)


def run_adapt(spec: str, traces: Path, out: Path, metrics: Sequence[str] = (), claims: Path | None = None) -> BringDone:
    """Write cases and their stamp, audited on the way."""
    loaded = load_adapter(spec)
    with counting("traces adapted") as on_rows:
        found = adapt(loaded, traces, out, _metrics(metrics), claims=claims, on_rows=on_rows)
    return BringDone(found.facts(), adapt_screen(found, out.name, stamp_path(out).name), found.outcome)


def _metrics(specs: Sequence[str]) -> list[Metric]:
    return [load_metric(spec) for spec in specs]


def adapt(
    loaded: LoadedAdapter,
    traces: Path,
    out: Path,
    metrics: Sequence[Metric] = (),
    *,
    claims: Path | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Audit:
    """Write the case of each trace, and beside them what made them.

    The cases of a failed audit are written too, so that they can be looked at; their stamp makes every gate of them
    *incomplete*.

    Parameters
    ----------
    loaded : LoadedAdapter
    traces, out : Path
        `out` is replaced as a whole, or left as it was.
    metrics : sequence of Metric, optional
    claims : Path, optional
        The reviewed file of ``evalkit claims draft``.
    """
    if out.resolve() == traces.resolve():
        msg = "would be written over the traces"
        raise EvalkitError(msg, where=str(out), do="give --out another name")
    amendment = _amendment(claims)
    with _whole_file(out) as stream:

        def write(case: dict[str, Any]) -> None:
            stream.write(orjson.dumps(case, option=orjson.OPT_APPEND_NEWLINE))

        options = AuditOptions(sink=write, on_rows=on_rows, amend=amendment.amend, also_fed=amendment.feeds)
        found = audit(loaded.adapter, traces, metrics, options=options)
    facts = stamp_facts(loaded, found, out, metrics, claims)
    write_whole(stamp_path(out), orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return found


class _Amendment(NamedTuple):
    amend: Callable[[dict[str, Any]], dict[str, Any]]
    feeds: frozenset[str]


def _amendment(claims: Path | None) -> _Amendment:
    if claims is None:
        return _Amendment(lambda case: case, frozenset())
    from evalkit.cases.claims import CLAIM_INPUTS, read_claims

    reviewed = read_claims(claims)
    return _Amendment(reviewed.amend, frozenset(CLAIM_INPUTS))


def stamp_facts(
    loaded: LoadedAdapter, found: Audit, out: Path, metrics: Sequence[Metric], claims: Path | None = None
) -> dict[str, Any]:
    """Return what lies beside the cases, and travels with every run of them."""
    adapter = loaded.adapter
    return {
        "schema": SCHEMA,
        "name": adapter.name,
        "revision": adapter.revision,
        "fingerprint": adapter.fingerprint,
        "mapping": adapter.facts(),
        "cases": out.name,
        "cases_sha256": sha256_file(out),
        "audit": {
            "outcome": found.outcome.name,
            "source": loaded.source,
            "traces": found.traces,
            "traces_sha256": found.traces_sha256,
            "claims_sha256": sha256_file(claims) if claims else None,
            "rows": found.rows,
            "failed": [check.name for check in found.failed],
            "unseen": list(found.unseen),
            "checks": {check.name: {"rows": check.rows, "failed": check.failed} for check in found.checks},
            "planted": {status: [m.id for m in found.matrix.of(status)] for status in _STATUSES},
            "controls": {"ok": sum(control.ok for control in found.controls), "of": len(found.controls)},
            "applicability": list(found.applicability),
            "metrics": {metric.name: contract_terms(metric) for metric in metrics},
        },
    }


_STATUSES: tuple[Any, ...] = ("killed", "survived", "not_applicable")


@contextlib.contextmanager
def _whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file line by line so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        msg = f"cannot be written ({error.strerror or error}); nothing that was there before has changed"
        raise EvalkitError(msg, where=str(path), do="free space or choose another folder, then run again") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
