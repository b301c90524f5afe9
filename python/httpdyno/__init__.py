"""A dynamometer for web servers: drive load, change one setting at a time, prove what helped."""

__version__ = "0.1.0"
