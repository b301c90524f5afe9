"""Experiments of the book as a test asks for them."""

from msgspec import structs

from httpdyno.book.declared import experiments
from httpdyno.cli.book_found import Asked

FEWEST = 6


BY_NAME = {each.name: each for each in experiments()}


def asked(name, budget_s=60.0, **changes):
    return Asked(each=structs.replace(BY_NAME[name], **changes), budget_s=budget_s, seed=4)
