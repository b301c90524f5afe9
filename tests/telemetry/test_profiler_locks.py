"""Servers whose workers and threads wait for locks, or seem to: whom that keeps from work."""

import pytest
from tests.telemetry.waiting_server import looked_at, mean, seen_at, seen_when, served, waiting

MUTEX = """
libc = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
for _ in range(3):
    threading.Thread(target=libc.pthread_mutex_lock, args=(mutex,), daemon=True).start()
say()
time.sleep(20)
"""


def test_threads_wait_for_a_mutex():
    with waiting(MUTEX) as (pid, _):
        seen = seen_at(pid, {"lock": 3.0, "sleep": 1.0})
    assert seen.doing == {"lock": 3.0, "sleep": 1.0}


FILE_LOCK = """
file = sys.argv[1]
def work():
    handle = open(file, "w")
    {lock}(handle, fcntl.LOCK_EX)
    say()
    {then}
workers(3, work)
signal.pause()
"""


@pytest.mark.parametrize("lock", ["fcntl.flock", "fcntl.lockf"])
def test_workers_wait_for_a_file_s_lock(lock, tmp_path):
    code = FILE_LOCK.format(lock=lock, then="time.sleep(20)")
    with waiting(code, str(tmp_path / "lock")) as (pid, _):
        seen = seen_at(pid, {"lock": 2.0, "sleep": 1.0})
    assert seen.doing == {"lock": 2.0, "sleep": 1.0}


@pytest.mark.parametrize("lock", ["fcntl.flock", "fcntl.lockf"])
def test_who_queues_for_the_right_to_accept_is_idle(lock, tmp_path):
    code = FILE_LOCK.format(lock=lock, then="select.select([listener], [], [])")
    with waiting(code, str(tmp_path / "lock")) as (pid, _):
        seen = seen_at(pid, {"idle": 3.0})
    assert seen.doing == {"idle": 3.0}


def test_workers_with_clients_wait_for_one_that_runs(tmp_path):
    code = """
def work():
    connection, _ = listener.accept()
    connection.sendall(connection.recv(1))
    with open(sys.argv[1], "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        while True:
            pass
workers(3, work)
say()
signal.pause()
"""
    with waiting(code, str(tmp_path / "lock")) as (pid, port):
        clients = [served(port) for _ in range(3)]
        try:
            seen = seen_at(pid, {"lock": 2.0, "running": 1.0})
        finally:
            for each in clients:
                each.close()
    assert seen.doing == {"lock": 2.0, "running": 1.0}


ROBUST = """
libc = ctypes.CDLL(None)
import mmap
shared = mmap.mmap(-1, 4096)
mutex = ctypes.byref(ctypes.c_char.from_buffer(shared))
attributes = ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(attributes)
libc.pthread_mutexattr_setpshared(attributes, 1)
libc.pthread_mutexattr_setrobust(attributes, 1)
libc.pthread_mutex_init(mutex, attributes)
def work():
    libc.pthread_mutex_lock(mutex)
    say()
    {then}
workers(3, work)
signal.pause()
"""


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("select.select([listener], [], [])", {"idle": 3.0}),
        ("time.sleep(20)", {"lock": 2.0, "sleep": 1.0}),
    ],
)
def test_a_mutex_between_processes_keeps_from_work_if_its_holder_works(then, expected):
    with waiting(ROBUST.format(then=then)) as (pid, _):
        seen = seen_at(pid, expected)
    assert seen.doing == expected


IDLE_POOL = """
import concurrent.futures, queue
pool = concurrent.futures.ThreadPoolExecutor(32)
together = threading.Barrier(32)
concurrent.futures.wait([pool.submit(together.wait) for _ in range(32)])
jobs = queue.Queue()
for _ in range(32):
    threading.Thread(target=jobs.get, daemon=True).start()
"""


@pytest.mark.parametrize("then", ["select.select([listener], [], [])", "BUSY"])
def test_an_idle_pool_of_threads_waits_for_no_lock(then):
    busy = "while True:\n    pool.submit(time.sleep, 0.001).result()\n"
    is_busy = then == "BUSY"

    def is_there(look):
        # Who got no CPU waits for work, which is clear. On a busy machine that may be all of them,
        # and those of an idle pool are still on their way to where they stay.
        return mean(look, "idle") >= 63.0 and (look.unclear > 0) == is_busy

    with waiting(f"{IDLE_POOL}\nsay()\n{busy if is_busy else then}") as (pid, _):
        looks = seen_when(lambda: looked_at(pid, 0.4), is_there)
    assert is_there(looks[-1]), looks[-1]
    for seen in looks:
        assert seen.workers == 65.0
        assert "lock" not in seen.doing
        assert seen.unclear < 36


def test_python_s_threads_wait_for_its_lock():
    code = """
def burn():
    while True:
        pass
for _ in range(3):
    threading.Thread(target=burn, daemon=True).start()
say()
burn()
"""
    with waiting(code) as (pid, _):
        seen = looked_at(pid, 0.5)
    assert seen.workers == 4.0
    assert mean(seen, "lock") > 0.5
    assert seen.cpu_s > 0
    assert seen.switches_voluntary > 20
