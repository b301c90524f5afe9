"""The experiments as they are declared in `experiments.toml`."""

import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import Protocol

import msgspec

from httpdyno.book.experiment import Experiment
from httpdyno.model import Record


class _File(Record, frozen=True):
    experiment: tuple[Experiment, ...]


@functools.cache
def experiments() -> tuple[Experiment, ...]:
    """Return all of them, in the order of the documents."""
    text = files("httpdyno.book").joinpath("experiments.toml").read_bytes()
    return msgspec.toml.decode(text, type=_File).experiment


def experiment(name: str) -> Experiment | None:
    """Return the one of that name; None where there is none."""
    return next((each for each in experiments() if each.name == name), None)


def way_of(one: Experiment) -> Experiment:
    """Return the one that stands for it: itself, but for what was printed twice."""
    other = experiment(one.same_as) if one.same_as else None
    return other or one


class Timed(Protocol):
    """What may take so long at most: an experiment, or the study of an advice."""

    @property
    def budget_s(self) -> float:
        """In seconds."""


def whole_s(asked: Iterable[Timed]) -> float:
    """Return what measuring all of these may take at most."""
    return sum(each.budget_s for each in asked)
