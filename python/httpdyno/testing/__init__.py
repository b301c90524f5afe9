"""Fakes and conformance suites for plug-in authors and our own tests."""
