"""Judgement: what was seen of a server goes in, what is worth trying comes out. Pure."""
