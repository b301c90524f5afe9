"""A process that writes to a store, for tests that need several, or one to kill.

Arguments: what to do, the store, its arguments. Prints a line after each thing it has done, and
waits for one on standard input before it begins, so that several begin at the same moment.
"""

import sys
from collections.abc import Callable

from tests.conformance.record import sample_host, sample_plan, sample_start, sample_window

from httpdyno.store import Store
from httpdyno.store.database import Database
from httpdyno.store.schema import windows


def write_run(url: str, n_starts: str) -> None:
    with Store.open(url) as store:
        run_id = store.create_run(sample_plan(), sample_host())
        for number in range(int(n_starts)):
            start = sample_start(start=number)
            for window in start.windows:
                store.save_window(run_id, window)
            store.save_start(run_id, start)
    say(run_id)


def write_forever(url: str) -> None:
    with Store.open(url) as store:
        run_id = store.create_run(sample_plan(), sample_host())
        say(run_id)
        block = 0
        while True:
            store.save_window(run_id, sample_window(block=block))
            say(str(block))
            block += 1


def stop_before_commit(url: str, run_id: str) -> None:
    database = Database.open(url)
    with database.writing() as connection:
        connection.execute(windows.delete().where(windows.c.run_id == int(run_id)))
        say("written")
        sys.stdin.readline()


def hold(url: str) -> None:
    with Store.open(url) as store:
        say(store.create_run(sample_plan(), sample_host()))
        sys.stdin.readline()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    say("ready")
    sys.stdin.readline()
    actions: dict[str, Callable[..., None]] = {
        "run": write_run,
        "forever": write_forever,
        "uncommitted": stop_before_commit,
        "hold": hold,
    }
    actions[sys.argv[1]](*sys.argv[2:])
