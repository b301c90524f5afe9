"""What is counted of a server that is looked at: who came and went, input, queues, pressure."""

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from msgspec import structs
from tests.namespace import may_make_networks, serving_elsewhere
from tests.telemetry.waiting_server import (
    ACCEPTING,
    PARENT,
    await_true,
    looked_at,
    mean,
    seen_when,
    served,
    waiting,
)

from httpdyno.advice.bottleneck.verdict import bottleneck
from httpdyno.model.look import LEAST_SAMPLES
from httpdyno.reason import because
from httpdyno.servers.becoming import children
from httpdyno.telemetry.kernel import (
    HostMemory,
    Pressure,
    listen_overflows,
    pressed,
    running_threads,
)
from httpdyno.telemetry.profile import profiler
from httpdyno.telemetry.profile.end import Ends
from httpdyno.telemetry.profile.profiler import Profiler


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
    assert seen.host_forks is not None
    assert seen.host_forks >= seen.births
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
        onlooker = Profiler([pid])
        onlooker.start()
        await_true(lambda: looked_at(pid, 0.05).n_samples > 0)
        socket.create_connection(("127.0.0.1", port)).close()
        await_true(lambda: looked_at(pid, 0.05).workers == 0.0)
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
        onlooker = Profiler([pid])
        onlooker.start()
        await_true(lambda: looked_at(pid, 0.05).workers > 0)
        [family] = children(pid)
        for _ in range(5):
            accepting = children(family)
            with served(port) as client:
                for _ in range(99):
                    client.sendall(b"x")
                    client.recv(1)
            # What one has counted is its parent's once it was waited for, and nobody's before.
            await_true(lambda: children(family) not in ([], accepting))  # noqa: B023 - called here
        seen = onlooker.stop()
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
    assert seen.overflows is not None  # of the whole machine, where others may overflow


_BLOCKED = """
for _ in range(4):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
say()
taken = [listener.accept()[0] for _ in range(3)]
while select.select(taken, [], []):
    time.sleep(0.1)
"""


def test_what_an_event_loop_that_sleeps_leaves_unread_is_seen():
    with waiting(_BLOCKED) as (pid, port), ExitStack() as stack:
        for n in range(3):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(b"x" * n)
        seen = seen_when(
            lambda: looked_at(pid, 1.0),
            lambda look: look.loops_asleep > 0.9 and look.n_samples >= LEAST_SAMPLES,
        )[-1]
    assert (seen.connections, seen.unread) == ({"established": 3.0}, 2.0)
    answered = structs.replace(seen, answers=10.0 * seen.seconds, clients=2.0)
    found = bottleneck(answered)
    assert (found.limit, found.evidence["unread"]) == ("too_few_workers", 2.0)


@pytest.mark.skipif(not may_make_networks(), reason="needs network namespaces")
def test_a_server_in_another_network_is_seen():
    with serving_elsewhere(8080) as network:
        pid = int(network.split("/")[2])
        # It may still be on its way; were its sockets not told, nobody knew what it waits for.
        seen = seen_when(
            lambda: looked_at(pid, network=network), lambda look: mean(look, "idle") > 1.5
        )[-1]
    assert [each.address for each in seen.queues] == ["127.0.0.1:8080"]
    assert mean(seen, "idle") > 1.5


_OVERFLOWING = """
import socket, sys
from tests.namespace import leave_network
leave_network()
listening = socket.create_server(("127.0.0.1", 0), backlog=0)
clients = [socket.socket() for _ in range(4)]
print("there", flush=True)
sys.stdin.readline()
for each in clients:
    each.setblocking(False)
    each.connect_ex(listening.getsockname())
print("full", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(not may_make_networks(), reason="needs network namespaces")
def test_full_queues_are_those_of_the_network_that_the_server_listens_in():
    with subprocess.Popen(
        [sys.executable, "-c", _OVERFLOWING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"there\n"
        # Who was begun here may listen there.
        looking = Profiler([os.getpid()], f"/proc/{process.pid}/ns/net")
        looking.start()
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"full\n"
        seen = looking.stop()
        process.stdin.close()
    assert seen.overflows is not None
    assert seen.overflows > 0
    assert listen_overflows([f"/proc/{process.pid}/ns/net", "/run/netns/none"]) == {}


def test_who_looks_and_does_not_come_back_is_not_waited_for(monkeypatch):
    class Stuck(Ends):
        def begin(self):
            is_over.wait()
            super().begin()

    is_over = threading.Event()
    monkeypatch.setattr(profiler, "Ends", Stuck)
    looking = Profiler([os.getpid()], patience_s=0.05)
    try:
        looking.start()
        seen = looking.stop()
    finally:
        is_over.set()
    assert (seen.n_samples, seen.hidden) == (
        0,
        (because("telemetry.did_not_end", patience_s=0.05),),
    )
    await_true(lambda: looking.own_cpu_s > 0)


def test_what_may_not_be_seen_is_named():
    code = (
        "import os, sys, time\n"
        "from httpdyno.telemetry.profile.profiler import Profiler\n"
        "if os.geteuid() == 0:\n    os.setgroups([])\n    os.setgid(65534)\n    os.setuid(65534)\n"
        "onlooker = Profiler([int(sys.argv[1])])\nonlooker.start()\ntime.sleep(0.2)\n"
        "look = onlooker.stop()\n"
        "print(look.doing, look.read_bytes, *look.hidden)\n"
    )
    with waiting(f"{ACCEPTING}\nworkers(2, work)\n{PARENT}") as (pid, _):
        watched = pid if os.geteuid() == 0 else 1
        seen = subprocess.run(
            [sys.executable, "-c", code, str(watched)], check=True, capture_output=True, text=True
        )
    assert "'other': " in seen.stdout
    assert "} None " in seen.stdout
    assert "telemetry.waits(why=telemetry.not_visible())" in seen.stdout


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


def test_cpus_that_it_shares_with_who_looks_are_counted_apart_from_the_machines():
    all_of_them = os.sched_getaffinity(0)
    if len(all_of_them) < 2:
        pytest.skip("one CPU is the whole machine")
    one = {max(all_of_them)}
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os; os.sched_setaffinity(0, {one})\nprint(flush=True)\nwhile True: pass",
        ],
        stdout=subprocess.PIPE,
    ) as busy:
        try:
            assert busy.stdout is not None
            busy.stdout.readline()
            os.sched_setaffinity(0, one)
            looking = Profiler([busy.pid])
            looking.start()
            time.sleep(0.3)
            look = looking.stop()
        finally:
            os.sched_setaffinity(0, all_of_them)
            busy.kill()
    assert (look.shared_cpus, look.cpus) == (1.0, 1.0)
    assert look.shared_busy == pytest.approx(1.0, abs=0.15)
