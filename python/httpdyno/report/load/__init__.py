"""What one load test has to say: as text, JSON, CSV, HdrHistograms, metrics and a page.

Every module is a pure function of a `LoadOutcome`. Words that several of them say are in
`headline`, `limit` and `caveat`; figures and what they can't carry in `distribution`.
"""
