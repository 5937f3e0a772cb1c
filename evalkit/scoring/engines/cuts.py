"""Cases cut into parts at line ends: what an engine hands out, numbered through as if all files were one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import NamedTuple

from evalkit.cases.lines import Block, check_cases_file, read_blocks, starts_with_bom
from evalkit.cases.read import BOM_FINDING
from evalkit.contract import EvalkitError

__all__ = ["CasePart", "Cut", "blocks_of", "cut_into_parts", "files_of"]

BLOCKS = 16
"""Blocks (of about a megabyte) in a part: small enough to be lost without grief, large enough to be worth sending."""

_BOM = b"\xef\xbb\xbf"


class CasePart(NamedTuple):
    """A stretch of whole lines of one file."""

    number: int
    """From 0, in input order."""
    path: str
    name: str
    """The file's name, for messages and the manifest: a path belongs to this machine."""
    start: int
    """Offset of its first byte."""
    blocks: tuple[int, ...]
    """Sizes in bytes. The cuts are those of one machine, so that sums of floats come out the same to the last digit."""
    first: int
    """Number of its first line, counted through all files."""
    lines: int
    sha256: str
    """Of its bytes: a file that changes while it is scored is noticed."""

    @property
    def where(self) -> str:
        """Its file, and its lines as they are numbered in the records."""
        return f"{self.name}, lines {self.first} to {self.first + self.lines - 1}"


class Cut(NamedTuple):
    """All parts of the cases, and what the whole is."""

    files: tuple[Path, ...]
    parts: tuple[CasePart, ...]
    sha256: str
    """Of the files joined into one."""
    findings: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the manifest calls the cases."""
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0].name}{more}"


def files_of(names: Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the files that the names stand for: a file, a folder of ``.jsonl`` files, or a pattern.

    Files keep the order of the names; those of a folder or of a pattern are sorted by name.

    Raises
    ------
    EvalkitError
        Where a name stands for nothing, or one file is named twice.
    """
    files = [file for name in names for file in _named(Path(name))]
    resolved = [file.resolve() for file in files]
    if twice := [file for at, file in enumerate(files) if resolved[at] in resolved[:at]]:
        msg = "is named twice: its rows would count double"
        raise EvalkitError(msg, where=str(twice[0]), do="name each file of cases once")
    return tuple(files)


def _named(path: Path) -> list[Path]:
    if path.is_file():
        check_cases_file(path)
        return [path]
    found = path.glob("*.jsonl") if path.is_dir() else map(Path, glob(str(path)))  # noqa: PTH207 - a pattern with a folder in it
    files = sorted(file for file in found if file.is_file())
    if (path / "manifest.json").is_file():
        msg = "is a run folder: its rows are scored already"
        raise EvalkitError(msg, where=str(path), do="give the cases, or read the run with evalkit gate or explain")
    if not files:
        msg = "holds no .jsonl file" if path.is_dir() else "there is no such file of cases"
        raise EvalkitError(msg, where=str(path), do="give .jsonl files, a folder of them, or a pattern in quotes")
    return files


def cut_into_parts(files: Sequence[Path]) -> Cut:
    """Read all files once and note where to cut them; nothing is parsed and nothing is kept in memory."""
    parts: list[CasePart] = []
    findings: list[str] = []
    whole, first, is_open = hashlib.sha256(), 1, False
    for file in files:
        if is_open:
            whole.update(b"\n")  # joined, the next file begins on a line of its own
            is_open = False
        start = 0
        if starts_with_bom(file):
            findings.append(BOM_FINDING if len(files) == 1 else f"{file.name}: {BOM_FINDING}")
            whole.update(_BOM)
            start = len(_BOM)
        for blocks in _grouped(read_blocks(file)):
            part = _part(len(parts), file, start, blocks, first)
            for block in blocks:
                whole.update(block.raw)
            is_open = not blocks[-1].raw.endswith(b"\n")
            parts.append(part)
            first += part.lines
            start += sum(part.blocks)
    return Cut(tuple(files), tuple(parts), "sha256:" + whole.hexdigest(), tuple(findings))


def _grouped(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        group.append(block)
        if len(group) == BLOCKS:
            yield group
            group = []
    if group:
        yield group


def _part(number: int, file: Path, start: int, blocks: Sequence[Block], first: int) -> CasePart:
    digest, lines = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block.raw)
        lines += block.raw.count(b"\n") + (not block.raw.endswith(b"\n"))
    sizes = tuple(len(block.raw) for block in blocks)
    return CasePart(number, str(file.resolve()), file.name, start, sizes, first, lines, digest.hexdigest())


def blocks_of(part: CasePart) -> Iterator[Block]:
    """Read a part, wherever this runs.

    Raises
    ------
    EvalkitError
        Where the file cannot be read here, or is not the one that was cut.
    """
    digest, first = hashlib.sha256(), part.first
    try:
        with Path(part.path).open("rb") as stream:
            stream.seek(part.start)
            for size in part.blocks:
                raw = stream.read(size)
                digest.update(raw)
                yield Block(first, raw)
                first += raw.count(b"\n")
    except OSError as error:
        msg = f"cannot be read by a worker ({error.strerror or error})"
        mend = "keep the cases where every worker sees them under the same path"
        raise EvalkitError(msg, where=part.name, do=mend) from error
    if digest.hexdigest() != part.sha256:
        msg = "changed while it was being scored, or a worker sees another file under its path"
        raise EvalkitError(msg, where=part.where, do="score again into a new folder when nobody writes to the cases")
