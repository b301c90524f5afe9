"""Servers that have room for what they are asked, and some that do all that their cores can."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from benches.bottlenecks import servers
from benches.bottlenecks.cases import Case, closed, n_cpus
from benches.bottlenecks.looking import capacity_per_s
from benches.bottlenecks.place import Built, Place, free_port
from msgspec import structs

from httpdyno.model import Think, Users, Workload
from httpdyno.model.look import Limit
from httpdyno.model.workload import Poisson

PROBE_S = 0.4
"""For so long a server is asked what it can do."""
USERS_PROBING = 8
ROOM: frozenset[Limit] = frozenset({"nothing"})
CORES: frozenset[Limit] = frozenset({"cpu"})

Server = Callable[[Place, int, random.Random], tuple[tuple[int, ...], str]]
"""Starts one at a port; its process ids, and the path that it is asked for."""


def healthy_cases(n: int, seed: int) -> Iterator[Case]:
    """Yield so many of them: servers and loads in turn, their sizes by chance."""
    draw = random.Random(seed)
    makers = [partial(at_a_third, each) for each in SERVERS]
    makers += [partial(with_thought, each) for each in SERVERS]
    makers += [partial(idle, each) for each in SERVERS]
    makers += [partial(flat_out, each) for each in COMPUTING]
    # Each way once before any comes again: of a few none is left to chance alone.
    order: list[Callable[[random.Random], Case]] = []
    while len(order) < n:
        order += draw.sample(makers, len(makers))
    for make in order[:n]:
        yield make(draw)


def at_a_third(server: Server, draw: random.Random) -> Case:
    """Users that know nothing of each other, a third of what it can do."""
    seed = draw.getrandbits(32)

    def build(place: Place) -> Built:
        built = started(server, place, seed)
        able_per_s = capacity_per_s(built, built.workload, PROBE_S)
        arrival = Poisson(rate_per_s=max(1.0, able_per_s / 3))
        return loaded_by(built, Workload(arrival=arrival, connections=256))

    return Case(name=f"{name_of(server)} at a third", accepted=ROOM, build=build)


def with_thought(server: Server, draw: random.Random) -> Case:
    """A few users, each of whom thinks for far longer than it waits."""
    seed, n_users = draw.getrandbits(32), draw.randint(1, 3)
    users = Users(think=Think(mean_s=draw.uniform(0.05, 0.2), is_exponential=True))

    def build(place: Place) -> Built:
        built = started(server, place, seed)
        return loaded_by(built, Workload(connections=n_users, users=users))

    return Case(name=f"{name_of(server)}, {n_users} who think", accepted=ROOM, build=build)


def idle(server: Server, draw: random.Random) -> Case:
    """Hardly anybody comes."""
    seed, rate_per_s = draw.getrandbits(32), draw.uniform(8, 20)

    def build(place: Place) -> Built:
        built = started(server, place, seed)
        return loaded_by(built, Workload(arrival=Poisson(rate_per_s=rate_per_s), connections=64))

    return Case(name=f"{name_of(server)}, mostly idle", accepted=ROOM, build=build)


def flat_out(server: Server, draw: random.Random) -> Case:
    """A closed loop without a pause: then the cores are the limit, and nothing else."""
    seed, n_users = draw.getrandbits(32), draw.randint(4, 12)

    def build(place: Place) -> Built:
        built = started(server, place, seed)
        return loaded_by(built, Workload(connections=n_users))

    return Case(name=f"{name_of(server)} flat out, {n_users} users", accepted=CORES, build=build)


def started(server: Server, place: Place, seed: int) -> Built:
    """Start it; the load is the one that asks what it can do."""
    port = free_port()
    pids, path = server(place, port, random.Random(seed))
    return Built(pids=pids, port=port, workload=closed(USERS_PROBING, path=path))


def loaded_by(built: Built, workload: Workload) -> Built:
    """Return it under another load, of the same path."""
    asked = structs.replace(workload, requests=built.workload.requests)
    return Built(pids=built.pids, port=built.port, workload=asked)


def name_of(server: Server) -> str:
    """Return what a server is called."""
    return server.__name__.replace("_", " ")


def gunicorn_sync(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """A few processes that compute."""
    options = f"--workers {draw.randint(2, 3) * n_cpus()}"
    work = f"burn:{draw.uniform(0.001, 0.005):.4f}"
    return (servers.gunicorn(place, port, work=work, options=options),), "/"


def gunicorn_threads(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """Two processes with far more threads than anybody needs."""
    options = f"--workers 2 --worker-class gthread --threads {draw.randint(8, 32)}"
    return (servers.gunicorn(place, port, work="burn:0.001", options=options),), "/"


def nginx(place: Place, port: int, _draw: random.Random) -> tuple[tuple[int, ...], str]:
    """Files."""
    return (servers.nginx(place, port),), "/style.css"


def apache_event(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """Files, by threads that hold no idle connection."""
    per_child = draw.choice((25, 50))
    settings = (
        f"StartServers 2\nThreadsPerChild {per_child}\nMinSpareThreads {per_child}\n"
        f"MaxSpareThreads {4 * per_child}\nMaxRequestWorkers {4 * per_child}\nKeepAlive On\n"
    )
    return (servers.apache(place, port, mpm="event", settings=settings),), "/style.css"


def apache_prefork(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """Files, by processes; kept connections would be a limit of their own."""
    n_spare = draw.randint(10, 30)
    settings = (
        f"StartServers {n_spare}\nMinSpareServers {n_spare}\nMaxSpareServers {2 * n_spare}\n"
        "MaxRequestWorkers 100\nKeepAlive Off\n"
    )
    return (servers.apache(place, port, mpm="prefork", settings=settings),), "/style.css"


def php_fpm(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """A pool behind nginx."""
    children = servers.php_fpm(place, children=draw.randint(2 * n_cpus(), 20))
    return (servers.nginx(place, port), children), "/index.php"


def threads(place: Place, port: int, draw: random.Random) -> tuple[tuple[int, ...], str]:
    """One process of many threads, each of which takes connections by itself."""
    words = ("--workers", 1, "--threads", draw.randint(20, 80), "--work", "burn:0.001")
    return (place.python("pool.py", "--port", port, *words, port=port),), "/"


SERVERS: tuple[Server, ...] = (
    gunicorn_sync,
    gunicorn_threads,
    nginx,
    apache_event,
    apache_prefork,
    php_fpm,
    threads,
)
COMPUTING: tuple[Server, ...] = (gunicorn_sync, php_fpm)
"""Of processes: threads of one Python wait for its lock, not for a core."""
