"""Several runs and several resumed ones at once on one store: all come to their end."""

import signal
import time
from collections.abc import Iterator

from benches.faults.family import Count
from benches.faults.small_study import COMMAND_S, Arena, arena, said_by

N_RUNS, N_RESUMED = 4, 3
_BUDGET = "60s"
_DONE = (0, 1)


def measure(n: int, seed: int) -> Iterator[Count]:
    """Let a crowd loose n times."""
    del seed  # the scheduler draws
    unwell: list[str] = []
    left: list[str] = []
    n_damaged = 0
    for _ in range(n):
        with arena() as place:
            ids = [_killed_run(place, number) for number in range(N_RESUMED)]
            crowd = [place.start("tune", "--resume", each, "--budget", _BUDGET) for each in ids]
            study = str(place.folder)
            crowd += [place.start("tune", study, "--budget", _BUDGET) for _ in range(N_RUNS)]
            for each in map(said_by, crowd):
                unwell += [] if each.code in _DONE else [f"code {each.code}: {each.error}"]
            left += [str(path) for path in place.run.glob("*run-*")]
            n_damaged += not place.is_whole()
    tries = n * (N_RUNS + N_RESUMED)
    yield Count(
        name="runs that did not come to their end", value=len(unwell), n=tries, note=_first(unwell)
    )
    yield Count(name="folders left", value=len(left), n=tries, note=_first(left))
    yield Count(name="stores damaged", value=n_damaged, n=n)


def _killed_run(place: Arena, n_before: int) -> str:
    """Begin a run, kill it once it stored something, and return its id."""
    process = place.start("tune", str(place.folder), "--budget", _BUDGET)
    deadline_s = time.monotonic() + COMMAND_S
    while time.monotonic() < deadline_s and process.poll() is None:
        newest = place.newest()
        if newest and int(newest[0]) > n_before and _has_started(place, newest[0]):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    said_by(process)
    newest = place.newest()
    return newest[0] if newest else "0"


def _has_started(place: Arena, run_id: str) -> bool:
    return any(str(row[0]) == run_id for row in place.stored()["starts"])


def _first(words: list[str]) -> str:
    return words[0] if words else ""
