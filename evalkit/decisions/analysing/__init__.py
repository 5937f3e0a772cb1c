"""What stands behind `evalkit.decisions.analysis`: one idea a module."""
