"""Evidence coverage: the share of a case's required claims that reviewed evidence supports."""

from __future__ import annotations

from evalkit.contract import Contract, InvalidRow, MetricResult, numeric_metric

__all__ = ["evidence_coverage"]

CONTRACT = Contract(
    version="1",
    measures="the share of a case's required claims that reviewed evidence supports",
    reviewed=("required_claim_ids",),
    produced=("supported_claim_ids",),
    invalid_when=(
        "required_claim_ids is empty: there is nothing to cover",
        "a claim id is blank",
        "a claim id occurs twice in one list, once both are trimmed at the ends",
        "a supported claim id is not among the required ones",
    ),
    consumed_by="the release policy, row by row; never an average",
    cannot_establish="whether a supported claim is true, or whether the required list is the right one",
    allows_missing={"supported_claim_ids": {"[]": "no required claim is supported: the score is 0.0"}},
    owners={"supported_set": "attribution"},
)


@numeric_metric(allowed_values=(0.0, 1.0), contract=CONTRACT)
def evidence_coverage(required_claim_ids: list[str], supported_claim_ids: list[str]) -> MetricResult:
    """Share of the required claims that are supported: ``|supported| / |required|``.

    Another stage (people, rules or a judge) has already decided which claims the answer supports; this metric only
    counts, and names what is missing.

    When it misleads: one missing claim weighs the same whether it is a courtesy or a legal duty (give such claims a
    slice of their own with a minimum of 1.0), and with k required claims only k + 1 values exist.

    Parameters
    ----------
    required_claim_ids : list of str
        Reviewed. Ids are trimmed at the ends and otherwise compared exactly, case included.
    supported_claim_ids : list of str
        Produced. A subset of the required ids; ``[]`` is a real answer that supports nothing.

    Returns
    -------
    MetricResult
        Value in 0..1; ``detail`` holds ``supported``, ``required`` (counts) and ``missing`` (sorted ids).

    Raises
    ------
    InvalidRow
        For an empty required list, a blank or duplicate id, or a supported id that is not required.

    Examples
    --------
    >>> result = evidence_coverage(["window", "method", "fee"], ["fee", "window"])
    >>> round(result.value, 4), result.reason
    (0.6667, 'supported=2; required=3; missing=method')
    """
    required = _claim_ids("required_claim_ids", required_claim_ids)
    supported = _claim_ids("supported_claim_ids", supported_claim_ids)
    if not required:
        msg = "required_claim_ids must not be empty"
        raise InvalidRow(msg)
    if unknown := sorted(supported - required):
        msg = f"supported_claim_ids contains unknown IDs: {','.join(unknown)}"
        raise InvalidRow(msg)
    missing = sorted(required - supported)
    return MetricResult(
        value=len(supported) / len(required),
        reason=f"supported={len(supported)}; required={len(required)}; missing={','.join(missing) or 'none'}",
        detail={"supported": len(supported), "required": len(required), "missing": missing},
    )


def _claim_ids(name: str, claim_ids: list[str]) -> set[str]:
    trimmed = [claim_id.strip() for claim_id in claim_ids]
    if not all(trimmed):
        msg = f"{name} contains a blank claim ID"
        raise InvalidRow(msg)
    distinct = set(trimmed)
    if len(distinct) != len(trimmed):
        msg = f"{name} contains duplicate claim IDs"
        raise InvalidRow(msg)
    return distinct
