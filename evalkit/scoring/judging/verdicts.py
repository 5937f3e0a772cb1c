"""The verdict store: every call is noted before it is sent and every completion kept; SQLite, plain JSON, no pickles.

A reader never trusts the file: another program's database, another layout or a damaged row is refused. Two processes
may share a store: a question that one of them is asking is waited for by the other, not paid for again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import orjson

from evalkit.contract import EvalkitError, sha256_text
from evalkit.scoring.judging.attempt import IN_DOUBT, Attempt
from evalkit.scoring.judging.budget import Used
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.owners import Owner
from evalkit.scoring.judging.reply import Reply

__all__ = ["Doubt", "OpenCall", "VerdictStore"]

_APPLICATION = 0x65766B6A  # "evkj"
_LAYOUT = 1
_TABLES = """
CREATE TABLE calls (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL,
  key TEXT NOT NULL, case_id TEXT, number INTEGER NOT NULL, sent_at TEXT NOT NULL, reserved TEXT NOT NULL,
  outcome TEXT, charge TEXT);
CREATE INDEX calls_by_key ON calls (key, run_id);
CREATE INDEX calls_open ON calls (owner) WHERE outcome IS NULL;
CREATE TABLE replies (id INTEGER PRIMARY KEY, key TEXT NOT NULL, run_id TEXT NOT NULL, case_id TEXT,
  prompt_sha256 TEXT NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL);
CREATE INDEX replies_by_key ON replies (key);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE conforming (shape TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class Doubt(NamedTuple):
    """A call whose process died before the answer was recorded."""

    case_id: str | None
    key: str
    charged: str


class OpenCall(NamedTuple):
    """A call that has been noted and may now be sent."""

    id: int
    number: int
    sent_at: str
    reserved: Decimal


class VerdictStore:
    """A store, opened for reading and paying.

    It keeps replies, redacted as the contract says, and hashes of prompts; never a prompt. It stays on this machine.

    Parameters
    ----------
    path : Path
        Made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> store = VerdictStore(Path(tempfile.mkdtemp()) / "verdicts.sqlite")
    >>> call = store.begin("run-1", "key-1", case_id="a", reserved=Decimal("0.01"))
    >>> reply = Reply(1, '{"reason": "r", "value": "pass"}', None, "stop", "m", None)
    >>> attempt = Attempt(call.number, call.sent_at, 12.5, 200, None, None, None, "0.002")
    >>> _ = store.keep(call, "run-1", "key-1", reply, attempt, charge=Decimal("0.002"), prompt_sha256="sha256:0")
    >>> store.find("key-1").reply.content
    '{"reason": "r", "value": "pass"}'
    >>> store.close()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Autocommit: transactions are opened by hand, as writers from the start, so that two cannot deadlock.
            self._db = sqlite3.connect(path, timeout=30.0, isolation_level=None)
            # Bytes that are no text become marks of it: their digest no longer fits, and the row is refused in words.
            self._db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            self._prepare()
        except (sqlite3.OperationalError, OSError) as error:  # no room, no right, or locked: the file may be fine
            msg = f"cannot be opened or made ({getattr(error, 'strerror', None) or error})"
            do = "free space or mend the folder, or give another file with --store; nothing was asked"
            raise EvalkitError(msg, where=str(path), do=do) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # SQLite quotes damaged names, bytes and all
            msg = f"is not a verdict store that can be trusted ({error})"
            raise self._refused(msg) from error
        self._owner = Owner(path.with_name(path.name + ".owners"))
        self.bury()

    def _refused(self, message: str) -> EvalkitError:
        return EvalkitError(message, where=str(self.path), do="give another file with --store, or remove this one")

    def _prepare(self) -> None:
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        layout = self._db.execute("PRAGMA user_version").fetchone()[0]
        if application == 0 and layout == 0 and not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            self._db.execute("PRAGMA journal_mode = WAL")
            with self._writing():
                if not self._db.execute("SELECT 1 FROM sqlite_master").fetchone():  # another process was not faster
                    for statement in _TABLES.split(";")[:-1]:
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._db.execute(f"PRAGMA user_version = {_LAYOUT}")
        elif application != _APPLICATION or layout != _LAYOUT:
            msg = f"is a database of another program or layout ({application:#x}, {layout})"
            raise self._refused(msg)
        # A commit survives the death of the process at any point; only a power cut may take the last moment with it.
        self._db.execute("PRAGMA synchronous = NORMAL")
        # Folding the journal into the file waits for the disk, and every call under way would wait with it: rarely.
        self._db.execute("PRAGMA wal_autocheckpoint = 20000")
        if (found := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            msg = f"is damaged ({found})"
            raise self._refused(msg)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            msg = f"cannot be written ({error}); no further call is made"
            raise EvalkitError(msg, where=str(self.path), do="free space or unlock it, then run again") from error
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._owner.close()
        self._db.close()

    def __enter__(self) -> VerdictStore:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    # --- reading --------------------------------------------------------------------------------------------------

    def find(self, key: str, *, run_id: str | None = None) -> Kept | None:
        """Return the first completion that was paid for under this key (of one run, where it asks everything anew)."""
        found = self._db.execute(
            "SELECT content, digest, case_id, prompt_sha256, run_id FROM replies "
            "WHERE key = ? AND (? IS NULL OR run_id = ?) ORDER BY id LIMIT 1",
            (key, run_id, run_id),
        ).fetchone()
        if found is None:
            return None
        content, digest, case_id, prompt_sha256, paid_by = found
        if digest != sha256_text(f"{key} {content}"):
            msg = f"the verdict kept for case {case_id!r} is damaged: it does not have the hash it was kept with"
            raise self._refused(msg)
        return Kept.of(orjson.loads(content), case_id=case_id, prompt_sha256=prompt_sha256, run_id=paid_by)

    def used(self, run_id: str) -> Used:
        """Return what a run has been charged, and how many calls it has made (those in doubt included)."""
        charges = self._db.execute("SELECT charge, reserved FROM calls WHERE run_id = ?", (run_id,)).fetchall()
        cost = sum((Decimal(charge if charge is not None else reserved) for charge, reserved in charges), Decimal(0))
        return Used(cost, len(charges))

    def doubts(self, run_id: str) -> list[Doubt]:
        """Return the calls of a run whose answer was never recorded."""
        rows = self._db.execute(
            "SELECT case_id, key, charge FROM calls WHERE run_id = ? AND json_extract(outcome, '$.error_kind') = ? "
            "ORDER BY id",
            (run_id, IN_DOUBT),
        )
        return [Doubt(*row) for row in rows]

    def attempts(self, run_id: str, key: str | None = None, *, kind: str | None = "row") -> list[Attempt]:
        """Return the ended calls of a run: of one question or of all, for rows or for the preflight."""
        rows = self._db.execute(
            "SELECT outcome FROM calls WHERE run_id = ? AND (? IS NULL OR kind = ?) AND (? IS NULL OR key = ?) "
            "AND outcome IS NOT NULL ORDER BY id",
            (run_id, kind, kind, key, key),
        )
        return [Attempt(**orjson.loads(outcome)) for (outcome,) in rows]

    # --- paying ---------------------------------------------------------------------------------------------------

    def begin(
        self, run_id: str, key: str, *, case_id: str | None, reserved: Decimal, kind: str = "row", again: bool = False
    ) -> OpenCall | Kept | None:
        """Note a call before it is sent.

        Returns
        -------
        OpenCall, Kept or None
            The completion, where it is here by now (and may serve: not `again`); ``None`` where another living process
            is asking the same question.
        """
        with self._writing():
            # In one step with the claim: what another process keeps is there before its claim is gone.
            if not again and (kept := self.find(key)) is not None:
                return kept
            claim = self._db.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
            if claim is not None and claim[0] != self._owner.name:
                if self._owner.is_alive(claim[0]):
                    return None
                self._bury([claim[0]])
            self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self._owner.name))
            before = self._db.execute(
                "SELECT COUNT(*) FROM calls WHERE run_id = ? AND key = ? AND kind = ?", (run_id, key, kind)
            ).fetchone()[0]
            sent_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            row = (run_id, self._owner.name, kind, key, case_id, before + 1, sent_at, str(reserved))
            made = self._db.execute(
                "INSERT INTO calls (run_id, owner, kind, key, case_id, number, sent_at, reserved) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            return OpenCall(int(made.lastrowid or 0), before + 1, sent_at, reserved)

    def end(self, call: OpenCall, key: str, attempt: Attempt, *, charge: Decimal) -> None:
        """Note that a call brought no completion, and let others ask."""
        with self._writing():
            self._end(call, key, attempt, charge)

    def _end(self, call: OpenCall, key: str, attempt: Attempt, charge: Decimal) -> None:
        outcome = orjson.dumps(attempt._asdict()).decode()
        self._db.execute("UPDATE calls SET outcome = ?, charge = ? WHERE id = ?", (outcome, str(charge), call.id))
        self._db.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner.name))

    def keep(
        self,
        call: OpenCall,
        run_id: str,
        key: str,
        reply: Reply,
        attempt: Attempt,
        *,
        charge: Decimal,
        prompt_sha256: str,
        case_id: str | None = None,
    ) -> Kept:
        """Keep a completion, in one step with the end of its call."""
        with self._writing():
            self._end(call, key, attempt, charge)
            kept = Kept(reply, tuple(self.attempts(run_id, key, kind=None)), case_id, prompt_sha256, run_id)
            content = orjson.dumps(kept.facts()).decode()
            digest = sha256_text(f"{key} {content}")
            self._db.execute(
                "INSERT INTO replies (key, run_id, case_id, prompt_sha256, content, digest) VALUES (?, ?, ?, ?, ?, ?)",
                (key, run_id, case_id, prompt_sha256, content, digest),
            )
        return kept

    def bury(self) -> None:
        """Put the open calls of dead processes in doubt: they may have been paid for, so they are charged in full."""
        with self._writing():
            owners = self._db.execute("SELECT DISTINCT owner FROM calls WHERE outcome IS NULL").fetchall()
            self._bury([owner for (owner,) in owners if not self._owner.is_alive(owner)])

    def _bury(self, owners: list[str]) -> None:
        for owner in owners:
            rows = self._db.execute(
                "SELECT id, number, sent_at, reserved FROM calls WHERE owner = ? AND outcome IS NULL", (owner,)
            ).fetchall()
            for call_id, number, sent_at, reserved in rows:
                died = "the process ended before an answer was recorded"
                attempt = Attempt(number, sent_at, None, None, IN_DOUBT, died, None, None)
                outcome = orjson.dumps(attempt._asdict()).decode()
                self._db.execute("UPDATE calls SET outcome = ?, charge = ? WHERE id = ?", (outcome, reserved, call_id))
            self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    # --- whether a shape of request has been compared with ragas' own ---------------------------------------------

    def conforms(self, shape: str) -> bool:
        """Tell whether this shape has been found equal to what ragas sends."""
        return self._db.execute("SELECT 1 FROM conforming WHERE shape = ?", (shape,)).fetchone() is not None

    def note_conforming(self, shape: str) -> None:
        """Remember it, so that ragas need not be imported again."""
        with self._writing():
            self._db.execute("INSERT OR IGNORE INTO conforming VALUES (?)", (shape,))
