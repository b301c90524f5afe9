"""What Apache holds between settings: broken rules are said, companions are added. Pure."""

from collections.abc import Mapping

from httpdyno.errors import AdapterError
from httpdyno.model import Survey
from httpdyno.servers.apache.setting import is_threaded, number_of
from httpdyno.servers.apache.spare import spare_names

_WORKERS = "MaxRequestWorkers"
_THREADS = "ThreadsPerChild"
_LIMIT = "ServerLimit"
_THREAD_LIMIT = "ThreadLimit"
SOMAXCONN = "net.core.somaxconn"
RULED = frozenset({_WORKERS, _THREADS, "ListenBacklog"})
"""Knobs that go with others or not."""


def companions(survey: Survey, asked: Mapping[str, int]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return what has to be set besides what is asked, and why.

    Args:
        survey: What is in force as found.
        asked: The numbers that are asked for the whole server: directive → number.

    Raises:
        AdapterError: What is asked cannot be in force together; Apache would change it, some of
            it without a word.
    """
    numbers = _Numbers(survey, asked)
    _check_backlog(survey, asked)
    if is_threaded(survey):
        _complete_threads(numbers)
    limit = numbers[_LIMIT]
    servers = -(-numbers[_WORKERS] // numbers.threads)
    if servers > limit:
        numbers.add(
            _LIMIT, servers, f"{_WORKERS} {numbers[_WORKERS]} takes ServerLimit {servers}; a "
            "ServerLimit takes a restart"
        )  # fmt: skip
    _complete_spare(numbers)
    return numbers.added, tuple(numbers.notes)


class _Numbers:
    """Numbers as they will be: asked, added, or as found."""

    def __init__(self, survey: Survey, asked: Mapping[str, int]) -> None:
        self.survey = survey
        self.asked = asked
        self.added: dict[str, int] = {}
        self.notes: list[str] = []

    def __getitem__(self, name: str) -> int:
        known = {**self.asked, **self.added}
        return known[name] if name in known else number_of(self.survey, name)

    def add(self, name: str, value: int, why: str) -> None:
        if name in self.asked:
            raise AdapterError(
                f"{name} {self.asked[name]} does not go with the rest: {why}",
                hint=f"Take {name} out of the study, or have levels of it that go together.",
            )
        self.added[name] = value
        self.notes.append(why)

    @property
    def threads(self) -> int:
        return max(1, self[_THREADS]) if is_threaded(self.survey) else 1


def _check_backlog(survey: Survey, asked: Mapping[str, int]) -> None:
    reading = survey.reading(SOMAXCONN)
    most = int(reading.text) if reading is not None and reading.text.isdecimal() else None
    backlog = asked.get("ListenBacklog", 0)
    if most is not None and backlog > most:
        raise AdapterError(
            f"ListenBacklog {backlog} would be cut off: {SOMAXCONN} is {most}",
            hint=f"Have levels of at most {most}, or raise {SOMAXCONN} first.",
        )


def _complete_threads(numbers: _Numbers) -> None:
    threads = numbers.threads
    if threads > numbers[_THREAD_LIMIT]:
        numbers.add(
            _THREAD_LIMIT,
            threads,
            f"{_THREADS} {threads} takes ThreadLimit {threads}; a ThreadLimit takes a restart",
        )
    workers = numbers[_WORKERS]
    if workers % threads == 0:
        return
    up = -(-workers // threads) * threads
    if _WORKERS in numbers.asked:
        down = max(threads, workers // threads * threads)
        raise AdapterError(
            f"{_WORKERS} {workers} is no multiple of {_THREADS} {threads}; Apache would lower it",
            hint=f"Have {down} or {up}.",
        )
    numbers.add(_WORKERS, up, f"{_WORKERS} has to be a multiple of {_THREADS} {threads}: {up}")


def _complete_spare(numbers: _Numbers) -> None:
    _, least_name, most_name = spare_names(numbers.survey)
    least, most = numbers[least_name], numbers[most_name]
    needed = least + numbers.threads
    touches = {least_name, most_name, _THREADS} & {*numbers.asked, *numbers.added}
    if most < needed and touches:
        numbers.add(
            most_name, needed, f"{most_name} cannot be below {needed}: {least_name} is {least}"
        )
