"""Studies of others: who may have written one, a copy of it, and what was trusted.

`owner` says who else may have written it, `held` copies and digests it, without `links` that lead
out of it; `named` says what it names outside of that, `record` remembers.
"""
