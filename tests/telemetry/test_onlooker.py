"""Servers that wait, each in its way: what is seen of them from outside."""

import os
import socket
import subprocess
import sys

import pytest
from tests.namespace import may_make_networks, serving_elsewhere
from tests.telemetry.waiting_server import PARENT, await_true, looked_at, waiting

from httpdyno.telemetry.kernel_text import Pressure
from httpdyno.telemetry.look.onlooker import Onlooker, pressed, running_threads
from httpdyno.telemetry.surroundings import HostMemory

ACCEPTING = """
def work():
    while True:
        connection, _ = listener.accept()
        while connection.recv(100):
            connection.sendall(b"x")
"""


def served(port):
    """Return a connection that was answered once, so that somebody reads from it again."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"x")
    assert client.recv(1) == b"x"
    return client


def mean(seen, doing):
    """Return the mean number that did something."""
    return seen.doing.get(doing, 0.0)


def test_workers_wait_for_connections_or_keep_one_and_their_parent_is_none():
    with waiting(f"{ACCEPTING}\nworkers(4, work)\n{PARENT}") as (pid, port), served(port):
        seen = looked_at(pid)
    assert seen.hidden == ()
    assert seen.workers == 4.0
    assert seen.doing == {"idle": 3.0, "client_read": 1.0}
    assert seen.connections == {"established": 1.0}
    assert [(each.backlog, each.most) for each in seen.queues] == [(16, 0)]
    assert (seen.births, seen.deaths) == (0, 0)


@pytest.mark.parametrize("wait", ["poll", "select"])
def test_whoever_polls_is_known_by_what_it_polls(wait):
    code = {
        "poll": "p = select.poll(); p.register(c, select.POLLIN); p.poll()",
        "select": "select.select([c], [], [])",
    }[wait]
    code = f"""
def work():
    c, _ = listener.accept()
    c.sendall(c.recv(1))
    {code}
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        seen = looked_at(pid)
    assert seen.doing == {"client_read": 1.0}


@pytest.mark.parametrize("timeout", ["None", "20"])
def test_a_client_that_takes_nothing_is_seen(timeout):
    # With a timeout Python polls before it sends.
    code = f"""
def work():
    connection, _ = listener.accept()
    connection.settimeout({timeout})
    connection.sendall(connection.recv(1))
    connection.sendall(bytes(50_000_000))
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        seen = looked_at(pid)
    assert mean(seen, "client_write") > 0.8


@pytest.mark.parametrize("timeout", ["None", "20"])
def test_a_backend_is_named(timeout):
    code = f"""
def work():
    connection, _ = listener.accept()
    backend = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    backend.settimeout({timeout})
    connection.sendall(connection.recv(1))
    backend.recv(1)
workers(1, work)
say()
signal.pause()
"""
    with socket.create_server(("127.0.0.1", 0)) as backend:
        port = backend.getsockname()[1]
        with waiting(code, str(port)) as (pid, own), served(own):
            seen = looked_at(pid)
    assert seen.doing == {"backend": 1.0}
    assert seen.backends == {f"127.0.0.1:{port}": 1.0}


def test_a_backend_at_a_unix_socket_has_its_path(tmp_path):
    code = """
def work():
    backend = socket.socket(socket.AF_UNIX)
    backend.connect(sys.argv[1])
    say()
    backend.recv(1)
workers(1, work)
signal.pause()
"""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as backend:
        backend.bind(path)
        backend.listen(1)
        with waiting(code, path) as (pid, _):
            seen = looked_at(pid)
    assert seen.backends == {f"unix:{path}": 1.0}


def test_a_backend_that_does_not_take_connections_is_named(tmp_path):
    code = """
def work():
    backends = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for at, backend in enumerate(backends):
        if at == 1:
            say()
        backend.connect(sys.argv[1])
workers(1, work)
signal.pause()
"""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as backend:
        backend.bind(path)
        backend.listen(0)
        with waiting(code, path) as (pid, _):
            seen = looked_at(pid)
    assert seen.backends == {f"unix:{path}": 1.0}


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
        seen = looked_at(pid)
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
        seen = looked_at(pid)
    assert seen.doing == {"lock": 2.0, "sleep": 1.0}


@pytest.mark.parametrize("lock", ["fcntl.flock", "fcntl.lockf"])
def test_who_queues_for_the_right_to_accept_is_idle(lock, tmp_path):
    code = FILE_LOCK.format(lock=lock, then="select.select([listener], [], [])")
    with waiting(code, str(tmp_path / "lock")) as (pid, _):
        seen = looked_at(pid)
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
            await_true(lambda: mean(looked_at(pid, 0.05), "lock") == 2.0)
            seen = looked_at(pid)
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
        seen = looked_at(pid)
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
    with waiting(f"{IDLE_POOL}\nsay()\n{busy if then == 'BUSY' else then}") as (pid, _):
        seen = looked_at(pid, 0.4)
    assert seen.workers == 65.0
    assert "lock" not in seen.doing
    assert mean(seen, "idle") >= 63.0
    # Who got no CPU waits for work, which is clear.
    assert (seen.unclear > 0) == (then == "BUSY")
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


def test_a_worker_waits_for_its_child_and_the_child_sleeps():
    code = """
def work():
    connection, _ = listener.accept()
    connection.sendall(connection.recv(1))
    subprocess.run(["sleep", "20"])
workers(1, work)
say()
signal.pause()
"""
    with waiting(code) as (pid, port), served(port):
        await_true(lambda: mean(looked_at(pid, 0.1), "child") == 1.0)
        seen = looked_at(pid)
    assert seen.doing == {"child": 1.0, "sleep": 1.0}


def test_a_zombie_is_one():
    with waiting(f"workers(2, lambda: os._exit(0))\n{PARENT}") as (pid, _):
        await_true(lambda: mean(looked_at(pid, 0.05), "zombie") == 2.0)


def test_what_was_born_and_died_is_counted_with_its_cpu_time():
    code = """
say()
while True:
    pid = os.fork()
    if pid == 0:
        began_s = time.process_time()
        while time.process_time() < began_s + 0.03:
            pass
        os.close(os.open("/proc/self/stat", os.O_RDONLY))
        os._exit(0)
    os.waitpid(pid, 0)
"""
    with waiting(code) as (pid, _):
        seen = looked_at(pid, 0.6)
    assert seen.births > 2
    assert abs(seen.births - seen.deaths) <= 1
    assert seen.spawn_cpu_s is not None
    # The child that is alive at the end is not in it; ticks are cut.
    assert 0.5 * seen.cpu_s < seen.spawn_cpu_s <= seen.cpu_s + 0.03


def test_a_worker_that_was_there_before_is_not_spawned():
    code = """
def work():
    began_s = time.process_time()
    while time.process_time() < began_s + 0.2:
        pass
    say()
    listener.accept()
workers(1, work)
os.wait()
signal.pause()
"""
    with waiting(code) as (pid, port):
        onlooker = Onlooker([pid])
        onlooker.start()
        await_true(lambda: looked_at(pid, 0.05).n_samples > 0)
        socket.create_connection(("127.0.0.1", port)).close()
        await_true(lambda: looked_at(pid, 0.05).workers == 1.0)
        seen = onlooker.stop()
    assert seen.deaths == 1
    assert seen.spawn_cpu_s is not None
    assert seen.spawn_cpu_s < 0.05


def test_what_was_read_and_written_is_counted_once():
    code = f"""
{ACCEPTING}
def once():
    connection, _ = listener.accept()
    while os.read(connection.fileno(), 1) == b"x":
        os.write(connection.fileno(), b"x")
def family():
    while True:
        workers(1, once)
        os.wait()
workers(1, family)
{PARENT}"""
    with waiting(code) as (pid, port):
        onlooker = Onlooker([pid])
        onlooker.start()
        await_true(lambda: looked_at(pid, 0.05).workers > 0)
        for _ in range(5):
            with served(port) as client:
                for _ in range(99):
                    client.sendall(b"x")
                    client.recv(1)
        seen = onlooker.stop()
    assert seen.deaths >= 1
    assert seen.read_calls is not None
    assert seen.write_calls is not None
    # Of each of five connections a hundred requests and its end; who counts twice has 1,000.
    assert 480 <= seen.read_calls < 550
    assert 480 <= seen.write_calls < 550


def test_who_waits_to_be_accepted_is_seen():
    with (
        waiting("say()\nsignal.pause()") as (pid, port),
        socket.create_connection(("127.0.0.1", port)),
        socket.create_connection(("127.0.0.1", port)),
    ):
        seen = looked_at(pid)
    assert [(each.address, each.mean, each.most) for each in seen.queues] == [
        (f"127.0.0.1:{port}", 2.0, 2)
    ]
    assert seen.overflows == 0


@pytest.mark.skipif(not may_make_networks(), reason="needs network namespaces")
def test_a_server_in_another_network_is_seen():
    with serving_elsewhere(8080) as network:
        seen = looked_at(int(network.split("/")[2]), network=network)
    assert [each.address for each in seen.queues] == ["127.0.0.1:8080"]
    assert mean(seen, "idle") == 2.0


def test_what_may_not_be_seen_is_named():
    code = (
        "import os, sys, time\n"
        "from httpdyno.telemetry.look.onlooker import Onlooker\n"
        "if os.geteuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "onlooker = Onlooker([int(sys.argv[1])])\nonlooker.start()\ntime.sleep(0.2)\n"
        "look = onlooker.stop()\n"
        "print(look.doing, look.read_bytes, look.hidden)\n"
    )
    with waiting(f"{ACCEPTING}\nworkers(2, work)\n{PARENT}") as (pid, _):
        watched = pid if os.geteuid() == 0 else 1
        seen = subprocess.run(
            [sys.executable, "-c", code, str(watched)], check=True, capture_output=True, text=True
        )
    assert "'other': " in seen.stdout
    assert "None (" in seen.stdout
    assert "what workers wait for: not visible without root" in seen.stdout


def test_a_server_that_is_gone_did_nothing():
    with subprocess.Popen([sys.executable, "-S", "-c", "pass"]) as process:
        process.wait()
        seen = looked_at(process.pid, 0.1)
    assert (seen.workers, seen.doing, seen.cpu_s, seen.queues) == (0.0, {}, 0.0, ())


def test_threads_that_run_are_counted_by_the_kernel():
    assert running_threads(b"0.20 0.18 0.12 3/80 11206\n") == 3
    assert running_threads(b"") == 0


def test_pressure_is_the_part_of_the_time():
    def told(some_s):
        each = Pressure(some_ratio=0.0, full_ratio=None, some_s=some_s)
        return HostMemory(available_bytes=0, swap_ins=0, pressure={"cpu": each})

    assert pressed(told(1.0), told(1.5), 2.0) == {"cpu": 0.25}
    assert pressed(told(1.0), told(9.0), 2.0) == {"cpu": 1.0}
