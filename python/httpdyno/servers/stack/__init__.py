"""People's own servers: read where they are, copied, changed in their own files, run privately."""
