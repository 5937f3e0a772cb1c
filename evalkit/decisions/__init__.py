"""What is decided: policies, the gate and its blockers, baselines, calibration, explanation."""
