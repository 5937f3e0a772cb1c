"""What must be caught: faults planted in metrics, policies and the gate, and which case catches each of them."""

from evalkit.mutate.front import kill_matrix
from evalkit.mutate.matrix import Kill, KillMatrix, Mutant

__all__ = ["Kill", "KillMatrix", "Mutant", "kill_matrix"]
