"""The threshold review: rows, labels and votes side by side, what a proposal would do, the policy decided."""
