"""A server that was started with the database behind it: whose workers are whose."""

import signal
from collections.abc import Callable

from tests.telemetry.waiting_server import ACCEPTING, PARENT, seen_when, served, waiting

from httpdyno.model import Look
from httpdyno.telemetry.account import account_found
from httpdyno.telemetry.profile.profiler import DependencyTrees, Profiler

DATABASE = """
def work():
    connection, _ = listener.accept()
    connection.recv(1)
workers(3, work)
say()
signal.pause()
"""
POOL = """
def work():
    connection, _ = listener.accept()
    backend = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(connection.recv(1))
    backend.recv(1)
workers(1, work)
say()
signal.pause()
"""


def looked_at(server: int, database: int) -> Callable[[], Look]:
    def look() -> Look:
        beside = DependencyTrees(name="db", root_pids=[database], account=account_found([database]))
        onlooker = Profiler([server, database], companions=[beside])
        onlooker.start()
        # A signal that never comes is as good as sleeping; nothing here can say that it is over.
        signal.sigtimedwait([signal.SIGURG], 0.3)
        return onlooker.stop()

    return look


def test_workers_of_a_companion_are_none_of_the_pool_that_waits_for_it():
    with (
        waiting(DATABASE) as (database, port),
        waiting(POOL, str(port)) as (server, own_port),
        served(own_port),
    ):
        looks = seen_when(looked_at(server, database), lambda seen: seen.doing == {"backend": 1.0})
    seen = looks[-1]
    assert (seen.workers, seen.doing) == (1.0, {"backend": 1.0})
    assert seen.backends == {f"127.0.0.1:{port}": 1.0}
    # What it has with its database is no client's connection, and that one's queue none of its own.
    assert seen.connections == {"established": 1.0}
    assert [each.address for each in seen.queues] == [f"127.0.0.1:{own_port}"]
    [db] = seen.companions
    assert (db.name, db.program[:6], db.addresses) == ("db", "python", (f"127.0.0.1:{port}",))
    assert db.workers == 3.0
    assert db.doing["idle"] == 2.0


def test_what_a_companion_used_is_in_the_whole_and_told_apart():
    burning = """
def work():
    while True:
        sum(range(2000))
workers(1, work)
say()
signal.pause()
"""
    with (
        waiting(burning) as (database, _),
        waiting(f"{ACCEPTING}\nworkers(2, work)\n{PARENT}") as (server, _),
    ):
        seen = seen_when(looked_at(server, database), lambda look: look.companions[0].cpu_s > 0.05)[
            -1
        ]
    [db] = seen.companions
    assert 0.05 < db.cpu_s <= seen.cpu_s + 1e-9  # sums of the same, rounded apart
    assert seen.cpu_s - db.cpu_s < 0.05
    assert (seen.workers, db.workers) == (2.0, 1.0)


def test_processes_that_come_and_go_are_counted_with_whose_they_are():
    forking = """
say()
while True:
    if os.fork() == 0:
        time.sleep(0.06)
        os._exit(0)
    os.wait()
"""
    with (
        waiting(forking) as (database, _),
        waiting(f"{ACCEPTING}\nworkers(2, work)\n{PARENT}") as (server, _),
    ):
        seen = seen_when(looked_at(server, database), lambda look: look.births > 0)[-1]
    assert seen.births == seen.companions[0].births > 0
    assert seen.deaths == seen.companions[0].deaths
    assert seen.workers == 2.0
