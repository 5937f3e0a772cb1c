"""A judge that was certified, asked again: the rehearsal of an upgrade, and drift on a frozen set."""
