"""Where private copies sit: a cell of namespaces, or a wall of access rules, and what is in it."""
