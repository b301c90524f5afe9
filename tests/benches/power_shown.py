"""What the bench of what a budget proves has shown, made up."""

import random
from typing import Any

from benches.power.figure import THIS, Case, Setting
from benches.power.program import Called

MADE: dict[str, Any] = {
    "figure": 1,
    "case": "a case",
    "by": THIS,
    "took_s": 1.0,
    "stolen_cores": 0.0,
}


def made(kind, *parts, **of_it):
    """Return what was shown, by its kind; of several words on one thing the last counts."""
    whole: dict[str, Any] = dict(MADE)
    for part in (*parts, of_it):
        whole |= part
    return kind(**whole)


def shown_by(case: Case, setting: Setting, draw: random.Random) -> list[Any]:
    return list(case.take(setting, draw))


def is_met(parts):
    return [part.is_met for part in parts]


def called(document, trouble=""):
    return Called(document=document, trouble=trouble, took_s=3.0, stolen_cores=0.1)
