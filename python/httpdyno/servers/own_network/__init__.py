"""Servers in a network of their own, with a hosts file and a resolver that are theirs."""
