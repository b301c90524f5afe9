"""Studies of others: who may have written one, a copy of it, and what was trusted.

`owner` says who else may have written it, `held` copies and digests it, `record` remembers.
"""
