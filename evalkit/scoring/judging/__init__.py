"""The parts of a judge run: preconditions, requests, budget, calls, verdicts kept, replies read, records made."""
