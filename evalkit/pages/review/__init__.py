"""The threshold review as people see it: tables and charts of a meeting, its widget, and the same page headless."""
