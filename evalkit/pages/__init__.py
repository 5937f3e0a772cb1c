"""What people see: reports, summaries, charts, widgets and notebooks. Pages compute nothing; they show."""
