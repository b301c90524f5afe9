"""One module or package for each kind of server."""
