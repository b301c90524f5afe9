"""Processes that burn CPU time when told."""

import subprocess
import sys
from contextlib import contextmanager

BURNED_S = 0.1
_WORKER = f"""
import sys, time
for _ in sys.stdin:
    until = time.process_time() + {BURNED_S}
    while time.process_time() < until:
        pass
    print("done", flush=True)
"""


@contextmanager
def burners(n):
    """Give so many of them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(n)
    ]
    try:
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


def worked(workers):
    """Have each burn some, one after the other."""
    for each in workers:
        each.stdin.write("go\n")
        each.stdin.flush()
        assert each.stdout.readline() == "done\n"


def ended(workers):
    """End all of them."""
    for each in workers:
        each.kill()
        each.wait()
