"""Making a study of a person's own servers: read, copied, tried once, and what to tune proposed."""
