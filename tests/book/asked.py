"""Experiments of the book as a test asks for them."""

from contextlib import nullcontext

from msgspec import structs

from httpdyno.book.experiment import experiments
from httpdyno.book.found import Asked, Host
from httpdyno.model import Outcome, Plan

FEWEST = 6


BY_NAME = {each.name: each for each in experiments()}


def no_run(plan: Plan) -> Outcome:
    raise AssertionError(f"{plan.study.name} was run")


def host(run_plan=no_run, told=None):
    """Return a host that runs a plan so, and puts what it is told into a list."""
    tell = (lambda _line: None) if told is None else told.append
    return Host(
        run_plan=run_plan, tell=tell, watched=lambda _name: nullcontext(lambda _words: None)
    )


def asked(name, budget_s=60.0, *, by=None, watch=lambda _words: None, **changes):
    each = structs.replace(BY_NAME[name], **changes)
    return Asked(each=each, budget_s=budget_s, seed=4, host=by or host(), watch=watch)
