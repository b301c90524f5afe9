"""Where private copies run: sandboxes of namespaces, of Landlock rules, or none."""
