"""``evalkit new``: a metric to start from, with cases, rows, policy and card that already pass its own checks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple, get_args

import orjson

from evalkit.contract import EvalkitError
from evalkit.contract.lint import lint_name
from evalkit.decisions.fitness import PROVISIONAL_DAYS
from evalkit.scoring.run import write_whole

__all__ = ["STARTER_KINDS", "Started", "StarterKind", "start_metric", "started_screen"]

StarterKind = Literal["numeric", "discrete", "ranking", "judge"]
STARTER_KINDS: tuple[StarterKind, ...] = get_args(StarterKind)

_TEMPLATES = Path(__file__).parent / "templates" / "new"
_COVERAGE: Mapping[StarterKind, str] = {
    "numeric": "- `contract.jsonl`: 13 cases: the ends of the ratio, each guard, exact comparison.\n"
    "- `release.jsonl`: 4 rows in one slice, one of them not blocking.",
    "discrete": "- `contract.jsonl`: 8 cases: below, at and above the limit, each guard, white space.\n"
    "- `release.jsonl`: 4 rows in one slice, one of them not blocking.",
    "ranking": "- `contract.jsonl`: 14 cases: either order, ties, exact comparison, each guard.\n"
    "- `release.jsonl`: 3 rows in one slice; a person reads each.",
    "judge": "- `controls.jsonl`: 13 controls of nine roles, 5 pairs.\n"
    "- `release.jsonl`: 4 rows in one slice, one of them not blocking.\n"
    "- `$name.cassette.jsonl`: a verdict for each row and control, written by hand: no model was asked.",
}


class _Equivalent(NamedTuple):
    """A planted fault after which a starter behaves as before."""

    operator: str
    fragment: str
    reason: str


_EQUIVALENT: Mapping[StarterKind, _Equivalent] = {
    "numeric": _Equivalent(
        "clamp",
        "min(max(",
        "Clamped to 0..1: only wanted items can be missing, so 0 <= has <= |wanted|, and the ratio lies inside.",
    ),
    "discrete": _Equivalent(
        "normalise_more",
        "response.casefold()",
        "Letter case adds and removes no white space, so the count is the same.",
    ),
}
_NOTE = "written by hand for evalkit new, not by a model: it certifies nothing"


class Started(NamedTuple):
    """What was written."""

    name: str
    kind: StarterKind
    folder: Path
    files: tuple[str, ...]
    """Names in the folder, sorted."""

    @property
    def spec(self) -> str:
        """How the metric is named on the command line."""
        return f"{self.folder.as_posix()}/{self.name}.py:{self.name}"


def start_metric(
    name: str, folder: Path | str | None = None, *, kind: StarterKind = "numeric", on: date | None = None
) -> Started:
    """Write a metric module with contract cases, release rows, policy, card and record of changes.

    What is written passes ``evalkit mutate``, ``evalkit gate`` and notebooks 01 and 02 as it stands; from there the
    author changes one thing at a time, and sees which case speaks up. A judge comes with controls and recorded
    verdicts in place of contract cases: it is tried, gated and read in notebook 01 without a key.

    Parameters
    ----------
    name : str
        Of metric and module: an identifier that is no field of a case or record.
    folder : path, optional
        A new or empty folder; by default one of the metric's name in the current folder.
    kind : str
        ``numeric``, ``discrete``, ``ranking`` or ``judge``.
    on : date, optional
        The day the policy is dated on; today by default. It is provisional: it blocks for 60 days at most.

    Raises
    ------
    EvalkitError
        For a name that no metric may have, an unknown kind, or a folder in which something lies already.
    """
    lint_name(name)
    if kind not in STARTER_KINDS:
        msg = f"--kind must be one of {', '.join(STARTER_KINDS)}; got {kind!r}"
        raise EvalkitError(msg)
    folder = Path(folder or name)
    _refuse_taken(folder)
    today = on or datetime.now(UTC).date()
    files = _texts(name, folder, kind, today)
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_whole(folder / file, text)
    if kind == "judge":
        _write_cassette(name, folder)
    elif kind in _EQUIVALENT:
        write_whole(folder / "equivalent.toml", _equivalent(name, folder, _EQUIVALENT[kind], today))
    cases = sorted(path.name for path in folder.glob("*.jsonl"))
    write_whole(folder / "CHANGES.md", _changes(folder, cases, today))
    return Started(name, kind, folder, tuple(sorted(path.name for path in folder.iterdir())))


def _refuse_taken(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        msg = "a folder was expected; this is a file"
        raise EvalkitError(msg, where=str(folder), do="give another place with --to")
    if folder.is_dir() and any(folder.iterdir()):
        msg = "something lies in this folder already, and nothing is overwritten"
        raise EvalkitError(msg, where=str(folder), do="give a new or empty folder with --to, or another name")


def _texts(name: str, folder: Path, kind: StarterKind, today: date) -> dict[str, str]:
    words = {
        "name": name,
        "place": folder.as_posix(),
        "today": today.isoformat(),
        "expires": (today + timedelta(days=PROVISIONAL_DAYS)).isoformat(),
    }
    words["coverage"] = Template(_COVERAGE[kind]).substitute(words)
    sources = {f"{name}.py": f"{kind}/metric.py.txt", "policy.toml": f"{kind}/policy.toml", "card.md": "card.md"}
    texts = {file: Template(_read(source)).substitute(words) for file, source in sources.items()}
    rows = ("controls.jsonl", "release.jsonl") if kind == "judge" else ("contract.jsonl", "release.jsonl")
    # Rows are data: a dollar sign in them is one.
    return texts | {file: _read(f"{kind}/{file}") for file in rows}


def _read(template: str) -> str:
    return (_TEMPLATES / template).read_text(encoding="utf-8")


def _write_cassette(name: str, folder: Path) -> None:
    """Record the written verdicts under the keys of the judge just made, so that a run replays them."""
    from evalkit.cases.read import Case, CaseFile
    from evalkit.scoring.judging.cassette import write_cassette
    from evalkit.scoring.judging.kept import Kept
    from evalkit.scoring.judging.reply import Reply
    from evalkit.scoring.judging.request import JudgeSettings, RequestMaker
    from evalkit.scoring.judging.rows import JudgeRows
    from evalkit.scoring.load_judge import load_judge

    judge = load_judge(f"{folder / name}.py:{name}")
    maker = RequestMaker(judge, JudgeSettings(model="by-hand"))
    rows = JudgeRows(judge, maker)
    verdicts = {found["case_id"]: found for found in map(orjson.loads, _read("judge/verdicts.jsonl").splitlines())}
    kept = []
    files = [CaseFile(folder / file, rows.required, rows.optional) for file in ("release.jsonl", "controls.jsonl")]
    for case in chain.from_iterable(files):
        _, request = rows.prepare(case)
        # A control that brings its failing reply along is never asked.
        if isinstance(case, Case) and request is not None and "reply" not in case.fields:
            verdict = verdicts[case.case_id]
            content = orjson.dumps({"reason": verdict["reason"], "value": verdict["value"]}).decode()
            reply = Reply(1, content, None, "stop", "by-hand", None)
            kept.append((request.key, Kept(reply, (), case.case_id, request.prompt_sha256)))
    write_cassette(folder / f"{name}.cassette.jsonl", maker.configuration, kept, note=_NOTE)


def _equivalent(name: str, folder: Path, known: _Equivalent, today: date) -> str:
    """Name the mutant that nothing can kill: its id rests on the metric's name, so it is looked up."""
    from evalkit.mutate.plant import plant
    from evalkit.scoring.load import load_metric

    planted = plant(load_metric(f"{folder / name}.py:{name}")).mutants
    (mutant,) = [m for m in planted if m.operator.name == known.operator and known.fragment in m.diff]
    return (
        f"# Planted faults after which {name} behaves exactly as before. `evalkit mutate` refuses an entry\n"
        f'# whose fault no longer exists, or that a case kills.\nschema = 1\nmetric = "{name}"\n\n[[equivalent]]\n'
        f'id = "{mutant.id}"\nreason = "{known.reason}"\nreviewed_by = "written by evalkit new"\non = {today}\n'
    )


def _changes(folder: Path, cases: list[str], today: date) -> str:
    lines = [
        "# Changes of the cases",
        "",
        "Each change of a `.jsonl` file of this folder has a line: what changed, why, and who approved it. `sha256` is",
        "the first 12 digits of the file's hash after the change (`sha256sum FILE`). Newest first.",
        "",
        "| date | file | sha256 | change | reason | approver |",
        "|---|---|---|---|---|---|",
    ]
    for file in cases:
        found = hashlib.sha256((folder / file).read_bytes()).hexdigest()[:12]
        lines.append(f"| {today} | `{file}` | `{found}` | new | written by evalkit new, to start from | nobody yet |")
    return "\n".join([*lines, ""])


def started_screen(started: Started) -> str:
    """Say what was written, and the commands that run on it."""
    place = started.folder.as_posix()
    rows, policy = f"{place}/release.jsonl", f"{place}/policy.toml"
    gate = f"evalkit gate {started.spec} {rows} --policy {policy}"
    page = f"evalkit notebooks 01 -p metric={started.spec} -p cases={rows} -p policy={policy} -p as_of="
    if started.kind == "judge":
        run = f"runs/{started.name}"
        commands = [
            f"evalkit controls {started.spec} {place}/controls.jsonl",
            f"evalkit judge {started.spec} {rows} --replay {place}/{started.name}.cassette.jsonl --run {run}",
            gate.replace(rows, run),
            page.replace(rows, run),
        ]
    else:
        commands = [
            f"evalkit mutate {started.spec} --cases {place}/contract.jsonl",
            gate,
            page,
            f"evalkit notebooks 02 -p metric={started.spec} -p fixtures={place}",
        ]
    written = "\n".join(f"  {place}/{file}" for file in started.files)
    run = "\n".join(f"  {command}" for command in commands)
    return f"{started.name}: a {started.kind} metric to start from\n\n{written}\n\nThese pass as they stand:\n\n{run}\n"
