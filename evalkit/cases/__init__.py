"""What comes in: strict reading of cases, labels, partitions and adapters; nothing is lost and nothing guessed."""

from evalkit.cases.read import BadLine, Case, CaseFile, read_cases

__all__ = ["BadLine", "Case", "CaseFile", "read_cases"]
