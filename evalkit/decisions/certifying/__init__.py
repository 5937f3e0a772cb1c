"""What a judge must show before it may decide: comparison with people, causes, held-out look, control run."""
