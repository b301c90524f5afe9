"""Starts are measured: servers up side by side, loaded in turns, looked at, ended."""
