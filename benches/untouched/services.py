"""What stands behind a site in production, each of it the real program, run by its own user.

Each is reached by a unix socket as that program makes it (by a relative path, renamed after it was
bound, behind a link, or by a second name that was made later) and, where it can be, by TCP on
loopback. It counts what it was asked for over its restarts.
"""

import os
import pwd
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

_READY_S = 30.0
_PAUSE_S = 0.3
"""For so long the socket is not there in a restart."""
_STAND_IN = Path(__file__).with_name("stand_in.py")
_PG = "/usr/lib/postgresql/15/bin"
PORTS = {"redis": 18_201, "mariadb": 18_202, "postgresql": 18_203, "memcached": 18_204}


@dataclass(kw_only=True)
class Service:
    """One of them."""

    name: str
    user: str
    command: Callable[[Path], list[str]]
    asks: Mapping[str, Mapping[str, object]]
    """Socket in its folder, as whoever asks for it says it → what the shop is told of it."""
    prepare: Callable[["Service"], object] = lambda _: None
    once_up: Callable[["Service"], None] = lambda _: None
    count: Callable[["Service"], int] = lambda _: 0
    """How many orders it had, while it is up, by what outlives it."""
    count_of_life: Callable[["Service"], int] = lambda _: 0
    """How many more it had since it came up, by what does not."""
    folder: Path = Path()
    n_before: int = 0
    n_restarts: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def path(self) -> Path:
        """Its first socket."""
        return self.folder / next(iter(self.asks))

    def told(self) -> list[dict[str, object]]:
        """Return what the shop is told, for each socket."""
        return [{"path": f"{self.folder}/{at}", **each} for at, each in self.asks.items()]

    def start(self) -> None:
        """Start it, and wait until it is there.

        Raises:
            RuntimeError: It does not come up.
        """
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(
                self.command(self.folder),
                cwd=self.folder,
                **as_user(self.user),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        deadline_s = monotonic() + _READY_S
        while not self._is_up():
            if monotonic() > deadline_s or self.process.poll() is not None:
                said_so_far = (self.folder / "said").read_text(errors="replace")[-800:]
                raise RuntimeError(f"{self.name} does not come up: {said_so_far}")
            sleep(0.05)
        self.once_up(self)

    def _is_up(self) -> bool:
        with suppress(Exception):
            self._count()
            return True
        return False

    def _count(self) -> int:
        return self.count(self) + self.count_of_life(self)

    def stop(self) -> None:
        """End it; what it counted is kept."""
        if self.process is None:
            return
        self.n_before += self.count_of_life(self)
        end(self.process)
        self.process = None

    def restart(self) -> None:
        """Stop it, leave its socket away for a moment, start it."""
        self.stop()
        sleep(_PAUSE_S)
        self.start()
        self.n_restarts += 1

    def kept(self) -> int:
        """Return how many bytes a stand-in was given, whether it is up or not."""
        return sum(path.stat().st_size for path in self.folder.glob("got.*"))

    def counted(self) -> int:
        """Return how many orders it had since it was first started."""
        return self.n_before + self._count()


def as_user(name: str) -> dict[str, Any]:
    """Return how a process is started as a user."""
    user = pwd.getpwnam(name)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its session."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_READY_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def said_by(path: str | tuple[str, int], words: bytes, enough: bytes = b"\n") -> bytes:
    """Say something to a socket; return what comes back, until it is enough."""
    family = socket.AF_UNIX if isinstance(path, str) else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(2.0)
        client.connect(path)
        client.sendall(words)
        said = b""
        while enough not in said:
            if not (piece := client.recv(65_536)):
                break
            said += piece
        return said


def _redis_count(service: Service) -> int:
    said = said_by(str(service.path), b"GET orders\r\n", b"\r\n")
    if said.startswith((b"-", b"")) and not said.startswith(b"$"):
        raise RuntimeError(said.decode())
    return int(said.split(b"\r\n")[1]) if said != b"$-1\r\n" else 0


def _memcached_count(service: Service) -> int:
    said = said_by(str(service.path), b"stats\r\n", b"END\r\n").decode()
    stats = dict(line.split(" ")[1:3] for line in said.splitlines() if line.startswith("STAT "))
    return int(stats["incr_hits"]) + int(stats["incr_misses"]) + int(stats["cmd_set"])


def _memcached_second_name(service: Service) -> None:
    other = service.folder / "second.sock"
    other.unlink(missing_ok=True)
    os.link(service.path, other)


def _haproxy_files(service: Service) -> None:
    (service.folder / "haproxy.cfg").write_text(
        "global\n  stats socket unix@admin.sock mode 666 level admin\n"
        "  log stdout format raw local0\n"
        "defaults\n  mode http\n  log global\n  option httplog\n"
        "  timeout client 5s\n  timeout server 5s\n  timeout connect 5s\n"
        f"frontend f\n  bind unix@{service.folder}/front.sock mode 666\n"
        "  http-request return status 200 content-type text/plain string ok\n"
        "backend b\n  server s1 127.0.0.1:1 weight 100\n"
    )


def _haproxy_log(service: Service) -> int:
    return (service.folder / "said").read_text(errors="replace").count("POST /order")


def _haproxy_weight(service: Service) -> int:
    """Return 1 where a weight was set."""
    said = said_by(f"{service.folder}/admin.sock", b"get weight b/s1\n", b"\n\n").decode()
    return 0 if said.startswith("100 ") else 1


def _mariadb_files(service: Service) -> None:
    (service.folder / "real").mkdir()
    (service.folder / "link").symlink_to("real")
    for name in ("real", "data"):
        (service.folder / name).mkdir(exist_ok=True)
        _give(service.folder / name, service.user)
    subprocess.run(
        [
            *("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal"),
            *(f"--datadir={service.folder}/data", "--skip-test-db"),
        ],
        **as_user(service.user),
        cwd=service.folder,
        check=True,
        capture_output=True,
    )


def _mariadb(service: Service, words: str) -> str:
    done = subprocess.run(
        ["mariadb", "--no-defaults", "-uroot", "-S", f"{service.path}", "-N", "-e", words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _mariadb_tables(service: Service) -> None:
    _mariadb(
        service,
        "CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.orders "
        "(id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB; "
        "CREATE USER IF NOT EXISTS 'app'@'%'; GRANT ALL ON shop.* TO 'app'@'%';"
        "CREATE USER IF NOT EXISTS 'app'@'localhost'; GRANT ALL ON shop.* TO 'app'@'localhost';",
    )


def _mariadb_count(service: Service) -> int:
    return _count_or_none(lambda: _mariadb(service, "SELECT COUNT(*) FROM shop.orders"), "exist")


def _postgresql_files(service: Service) -> None:
    subprocess.run(
        [f"{_PG}/initdb", "-A", "trust", "-N", "-D", f"{service.folder}/data"],
        **as_user(service.user),
        cwd=service.folder,
        check=True,
        capture_output=True,
    )


def _psql(service: Service, words: str) -> str:
    port = PORTS["postgresql"]
    host = service.path.parent
    done = subprocess.run(
        ["/usr/bin/psql", "-h", host, "-p", f"{port}", "-U", "postgres", "-Atc", words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _postgresql_tables(service: Service) -> None:
    _psql(service, "CREATE TABLE IF NOT EXISTS orders (id SERIAL PRIMARY KEY)")


def _postgresql_count(service: Service) -> int:
    return _count_or_none(lambda: _psql(service, "SELECT COUNT(*) FROM orders"), "exist")


def _count_or_none(ask: Callable[[], str], no_table: str) -> int:
    """Return the count; 0 where there is no table yet."""
    try:
        return int(ask())
    except subprocess.CalledProcessError as error:
        if no_table in error.stderr:
            return 0
        raise


def _php_files(service: Service) -> None:
    (service.folder / "order.php").write_text(
        '<?php file_put_contents(__DIR__ . "/orders", "x", FILE_APPEND); echo "ok";'
    )
    (service.folder / "fpm.conf").write_text(
        f"[global]\nerror_log = {service.folder}/error.log\n[www]\n"
        f"listen = {service.folder}/php.sock\nlisten.mode = 0666\n"
        "pm = static\npm.max_children = 2\n"
    )


def _lines(name: str) -> Callable[[Service], int]:
    def count(service: Service) -> int:
        if not os.path.lexists(service.path):
            raise RuntimeError("not there yet")
        file = service.folder / name
        return file.stat().st_size if file.exists() else 0

    return count


def stand_in(name: str, *hows: str) -> Service:
    """Return something small that binds or reads in these ways, each of which none other has."""
    kinds = {how: how if how in {"datagram", "fifo"} else "plain" for how in hows}
    return Service(
        name=name,
        user="nobody",
        command=lambda folder: ["/usr/bin/python3", "-S", str(folder / "stand_in.py"), *hows],
        asks={f"{how}.sock": {"kind": kind} for how, kind in kinds.items()},
        prepare=lambda service: (service.folder / "stand_in.py").write_bytes(
            _STAND_IN.read_bytes()
        ),
        count=_stand_in_count,
    )


def _stand_in_count(service: Service) -> int:
    if not all(os.path.lexists(service.folder / at) for at in service.asks):
        raise RuntimeError("not there yet")
    return service.kept()


def all_services() -> list[Service]:
    """Return what this bench has."""
    return [
        Service(
            name="redis",
            user="redis",
            command=lambda folder: [
                *("/usr/bin/redis-server", "--dir", str(folder), "--unixsocket", "redis.sock"),
                *("--unixsocketperm", "777", "--port", str(PORTS["redis"]), "--save", ""),
                *("--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"),
            ],
            asks={"redis.sock": {"kind": "redis", "port": PORTS["redis"]}},
            count=_redis_count,
        ),
        Service(
            name="haproxy",
            user="haproxy",
            command=lambda folder: ["/usr/sbin/haproxy", "-db", "-f", f"{folder}/haproxy.cfg"],
            asks={"front.sock": {"kind": "haproxy"}},
            prepare=_haproxy_files,
            count=_haproxy_log,
            count_of_life=_haproxy_weight,
        ),
        Service(
            name="mariadb",
            user="mysql",
            command=lambda folder: [
                *("/usr/sbin/mariadbd", "--no-defaults", f"--datadir={folder}/data"),
                *(f"--socket={folder}/link/db.sock", f"--port={PORTS['mariadb']}"),
                *("--bind-address=127.0.0.1", f"--pid-file={folder}/db.pid"),
                "--innodb-buffer-pool-size=16M",
            ],
            asks={"link/db.sock": {"kind": "mariadb", "port": PORTS["mariadb"]}},
            prepare=_mariadb_files,
            once_up=_mariadb_tables,
            count=_mariadb_count,
        ),
        Service(
            name="postgresql",
            user="postgres",
            command=lambda folder: [
                *(f"{_PG}/postgres", "-D", f"{folder}/data", "-p", str(PORTS["postgresql"])),
                *("-c", "unix_socket_directories=..", "-c", "shared_buffers=8MB"),
            ],
            asks={
                f".s.PGSQL.{PORTS['postgresql']}": {
                    "kind": "postgresql",
                    "port": PORTS["postgresql"],
                }
            },
            prepare=_postgresql_files,
            once_up=_postgresql_tables,
            count=_postgresql_count,
        ),
        Service(
            name="memcached",
            user="memcache",
            command=lambda folder: ["/usr/bin/memcached", "-s", f"{folder}/mc.sock", "-a", "777"],
            asks={"mc.sock": {"kind": "memcached", "second": "second.sock"}},
            once_up=_memcached_second_name,
            count_of_life=_memcached_count,
        ),
        Service(
            name="memcached by TCP",
            user="memcache",
            command=lambda folder: [
                *("/usr/bin/memcached", "-l", "127.0.0.1", "-p", str(PORTS["memcached"]), "-U", "0")
            ],
            asks={"": {"kind": "memcached tcp", "port": PORTS["memcached"]}},
            count_of_life=_memcached_tcp_count,
        ),
        Service(
            name="php-fpm",
            user="www-data",
            command=lambda folder: ["/usr/sbin/php-fpm8.2", "-F", "-y", f"{folder}/fpm.conf"],
            asks={"php.sock": {"kind": "fastcgi"}},
            prepare=_php_files,
            count=_lines("orders"),
        ),
        stand_in("a FIFO's reader", "fifo"),
        stand_in("a datagram socket", "datagram"),
        stand_in("renamed after it was bound", "renamed"),
        stand_in("bound by a descriptor", "descriptor"),
    ]


def _memcached_tcp_count(service: Service) -> int:
    said = said_by(("127.0.0.1", PORTS["memcached"]), b"stats\r\n", b"END\r\n").decode()
    stats = dict(line.split(" ")[1:3] for line in said.splitlines() if line.startswith("STAT "))
    return int(stats["incr_hits"]) + int(stats["incr_misses"]) + int(stats["cmd_set"])


@contextmanager
def in_production(services: list[Service], top: Path) -> Iterator[None]:
    """Have them all run, each in a folder of its own below this one."""
    try:
        for service in services:
            service.folder = top / service.name.replace(" ", "-").replace("'", "")
            service.folder.mkdir(mode=0o755)
            _give(service.folder, service.user)
            service.prepare(service)
            for path in service.folder.iterdir():
                _give(path, service.user)
            service.start()
        yield
    finally:
        for service in services:
            if service.process is not None:
                end(service.process)


def _give(path: Path, user: str) -> None:
    found = pwd.getpwnam(user)
    os.chown(path, found.pw_uid, found.pw_gid, follow_symlinks=False)
