"""Runs killed by `kill -9` again and again, each time resumed: to the end, or to a new kill.

Just before each kill, while httpdyno stands still, another process reads what is in the store:
all of that was told as stored. It must be there afterwards; complete starts must still be there
when the run is over, byte for byte.
"""

import random
import signal
import subprocess
from collections.abc import Iterator

import psutil
from benches.faults.family import Count
from benches.faults.small_study import Arena, arena, said_by

_BUDGET_S = 20.0
_ANEW_S = 3.0
"""What a kill may cost besides the time until it: a start that was begun is measured anew."""
_EARLIEST_S, _LATEST_S = 0.3, 5.0
_END_S = 10.0
_DONE = (0, 1)


def measure(n: int, seed: int) -> Iterator[Count]:
    """Kill n times."""
    moments = random.Random(seed)
    lost: list[str] = []
    unwell: list[str] = []
    complete: set[tuple[object, ...]] = set()
    n_killed, n_resumed, n_finished = 0, 0, 0
    spent_s = 0.0
    with arena() as place:
        words = _begin(place)
        while n_killed < n:
            after_s = moments.uniform(_EARLIEST_S, _LATEST_S)
            process = place.start(*words)
            code, text, missing, seen = _killed(place, process, after_s)
            complete |= seen
            n_resumed += "--resume" in words
            lost += [f"after {after_s:.2f} s: {each}" for each in missing]
            if code is None:
                n_killed += 1
                spent_s += after_s + _ANEW_S
                words = _go_on(place, spent_s)
                continue
            spent_s = 0.0
            n_finished += 1
            if code not in _DONE:
                unwell.append(f"{' '.join(words)}: code {code}: {text.strip()[-200:]}")
            words = _begin(place)
        if "--resume" in words:
            last = place.said(*words)
            if last.code not in _DONE:
                unwell.append(last.error)
        gone = complete - place.stored()["starts"]
        lost += [f"{len(gone)} of {len(complete)} complete starts at the end"] if gone else []
        next_said = place.said("history")
        unwell += [next_said.error] if next_said.code else []
        left = [str(path) for path in place.run.glob("*run-*")]
        is_whole = place.is_whole()
    note = f"{n_resumed} lives were resumed ones, {n_finished} came to their end"
    yield Count(name="windows and starts lost", value=len(lost), n=n, note=_first(lost) or note)
    yield Count(name="resumed runs that failed", value=len(unwell), n=n, note=_first(unwell))
    yield Count(name="folders left at the end", value=len(left), n=n, note=_first(left))
    yield Count(name="stores damaged", value=not is_whole, n=1)


def _begin(place: Arena) -> list[str]:
    return ["tune", str(place.folder), "--budget", f"{_BUDGET_S:.0f}s"]


def _go_on(place: Arena, spent_s: float) -> list[str]:
    """Return how the newest run goes on; a new one where the kill came before there was any."""
    newest = place.newest()
    if newest is None or newest[1] != "running":
        return _begin(place)
    # What was spent counts, and what is done anew too: only more time brings it to its end.
    return ["tune", "--resume", newest[0], "--budget", f"{_BUDGET_S + spent_s:.0f}s"]


def _killed(
    place: Arena, process: subprocess.Popen[str], after_s: float
) -> tuple[int | None, str, list[str], set[tuple[object, ...]]]:
    """Kill a run; return its code and words where it ended before, what was lost, what was there.

    Of what was there, only the complete starts: windows of others are measured anew.
    """
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        pass
    else:
        said = said_by(process)
        return said.code, said.text, [], set()
    process.send_signal(signal.SIGSTOP)
    below = psutil.Process(process.pid).children(recursive=True)
    before = place.stored()
    place.kill(process)
    _, alive = psutil.wait_procs(below, timeout=_END_S)
    after = place.stored()
    lost = [f"process {each.pid} lives" for each in alive]
    for each in alive:
        each.kill()
    for name, rows in before.items():
        missing = rows - after[name]
        if missing:
            lost.append(f"{len(missing)} of {len(rows)} {name}")
    return None, "", lost, before["starts"]


def _first(words: list[str]) -> str:
    return words[0] if words else ""
