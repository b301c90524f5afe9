"""Whether people's own sites with planted mistakes are tuned by three commands."""
