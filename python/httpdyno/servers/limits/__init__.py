"""Control groups: what a server may take, and all that ever ran in it."""
