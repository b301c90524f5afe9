"""Servers that run already, as they are seen from outside: their settings, processes and pages.

What `inspect`, `watch`, `load --look`, `compare --url` and `adopt` know of a server is put together
here, of what `servers`, `telemetry` and `advice` have, and shown by `report`.
"""
