"""A parent that shares memory with its children, of which each touches some: sizes are known.

As a program: share so many MiB, fork children that dirty some pages of it, and stay.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


@contextmanager
def forked(shared_mib: int, touched_pages: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Give the pids of a parent and of its children, of which each has touched so many pages."""
    command = [sys.executable, "-I", "-S", __file__, str(shared_mib), *map(str, touched_pages)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        yield parent.pid, json.loads(parent.stdout.readline())
        parent.stdin.close()


def main(shared_mib: int, touched_pages: Sequence[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    memory = mmap(-1, shared_mib * MIB, MAP_PRIVATE | MAP_ANONYMOUS)
    # A huge page would be copied whole where one byte of it is written.
    memory.madvise(15)
    for at in range(0, len(memory), PAGE_BYTES):
        memory[at] = 1
    pids = []
    for n_pages in touched_pages:
        ready, done = os.pipe()
        pid = os.fork()
        if pid == 0:
            for page in range(n_pages):
                memory[page * PAGE_BYTES] = 2
            os.write(done, b"x")
            signal.pause()
        os.read(ready, 1)
        os.close(ready)
        os.close(done)
        pids.append(pid)
    sys.stdout.write(f"{json.dumps(pids)}\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        pass
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(word) for word in sys.argv[2:]])
