"""What ``make run`` shows: the release check on an incident that is red, and how to use it on one's own data."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

FIXTURES = Path("fixtures/evidence_coverage")
EXPECTED = 1
"""The incident is red, and the demo is a success only if the check says so."""

YOUR_OWN = """
That red was expected: after a parser change one answer still states the refund
method, but its citation points at a document id that retrieval no longer uses.

On your own data:
  .venv/bin/evalkit doctor
  .venv/bin/evalkit score evidence_coverage YOUR.jsonl --run runs/first
  .venv/bin/evalkit gate evidence_coverage YOUR.jsonl --policy YOUR.toml --run runs/check
"""


def main() -> int:
    """Run the check as a user would type it."""
    run = Path("runs") / f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    arguments = [
        "gate", "evidence_coverage", str(FIXTURES / "incident.jsonl"),
        "--policy", str(FIXTURES / "policy.toml"), "--as-of", "2026-12-01", "--run", str(run),
    ]  # fmt: skip
    print("$ evalkit", *arguments, "\n", flush=True)
    code = subprocess.run([sys.executable, "-m", "evalkit", *arguments], check=False).returncode
    if code != EXPECTED:
        print(f"The incident should be red (exit code {EXPECTED}); evalkit ended with {code}.", file=sys.stderr)
        return 2
    print(YOUR_OWN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
