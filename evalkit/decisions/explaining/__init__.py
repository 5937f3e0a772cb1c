"""Behind `explain`, `triage` and `compare`: what a record still shows, what differs between two, and in which order."""
