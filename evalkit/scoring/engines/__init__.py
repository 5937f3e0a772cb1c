"""Beyond one machine: a file or many cut into parts, scored wherever an engine puts them, joined into one run."""
