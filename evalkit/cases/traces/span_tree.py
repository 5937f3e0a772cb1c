"""The spans of one trace as a tree: its root, double span ids, parents that form a circle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evalkit.cases.traces.spans import Span
from evalkit.contract import example_list

__all__ = ["SpanTree", "tree_of"]


class SpanTree(NamedTuple):
    """One trace's spans, in the order in which they began."""

    spans: tuple[Span, ...]
    root: Span | None
    """The one span without a parent in this trace; ``None`` where there are several or none."""
    problem: str | None
    notes: tuple[str, ...]

    def ancestors(self, span: Span) -> list[Span]:
        """Return the spans above one, nearest first; a tree with a problem has none to give."""
        by_id = {} if self.problem else {other.span_id: other for other in self.spans}
        found: list[Span] = []
        while span.parent_id in by_id and len(found) < len(self.spans):
            span = by_id[span.parent_id]
            found.append(span)
        return found


def tree_of(spans: Iterable[Span]) -> SpanTree:
    """Order the spans of one trace and find its root; whatever is ambiguous is said, never settled by a guess.

    Examples
    --------
    >>> a = Span("t", "a", None, "app", "1", {}, None)
    >>> b = Span("t", "b", "a", "chat", "2", {}, None)
    >>> tree_of([b, a]).root.name, tree_of([b, b, a]).notes
    ('app', ('span b was exported twice, with the same content',))
    >>> tree_of([a._replace(parent_id="b"), b]).problem
    'the parents of its spans form a circle: a -> b -> a'
    """
    by_id: dict[str, Span] = {}
    notes: list[str] = []
    problems: list[str] = []
    for span in spans:
        other = by_id.get(span.span_id)
        if other is None:
            by_id[span.span_id] = span
        elif other == span:
            notes.append(f"span {span.span_id} was exported twice, with the same content")
        else:
            problems.append(f"two spans have the id {span.span_id} and different content ({other.name}, {span.name})")
    ordered = tuple(sorted(by_id.values(), key=lambda span: span.start))
    problems += _circle(by_id)
    roots = [span for span in ordered if span.parent_id is None]
    orphans = [span for span in ordered if span.parent_id is not None and span.parent_id not in by_id]
    root = roots[0] if len(roots) == 1 else None
    if not roots and len(orphans) == 1:  # the caller's own span, above it, is in another export
        root = orphans[0]
    if root is None and not problems:
        named = example_list([span.name or span.span_id for span in (*roots, *orphans)])
        notes.append(f"no single span is the root of this trace: {named}")
    return SpanTree(ordered, root, problems[0] if problems else None, tuple(notes))


def _circle(by_id: dict[str, Span]) -> list[str]:
    settled: set[str] = set()
    for start in by_id:
        path: list[str] = []
        at: str | None = start
        while at in by_id and at not in settled:
            if at in path:
                circle = " -> ".join([*path[path.index(at) :], at])
                return [f"the parents of its spans form a circle: {circle}"]
            path.append(at)
            at = by_id[at].parent_id
        settled.update(path)
    return []
