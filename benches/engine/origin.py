"""Servers to load: the oracle, whose log is the truth, and nginx."""

import http.client
import json
import os
import resource
import shutil
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from benches.engine.process import Background, BenchError
from benches.engine.setting import REPOSITORY, Setting
from numpy.typing import NDArray

ORACLE = REPOSITORY / "target" / "release" / "httpdyno-oracle"
START_PATIENCE_S = 10.0
_NGINX = """\
worker_processes 1;
worker_cpu_affinity {affinity};
worker_rlimit_nofile 20000;
daemon off;
error_log {folder}/error.log;
pid {folder}/pid;
events {{ worker_connections 16000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_min_length 1000;
    gzip_comp_level 9;
    server {{
        listen 127.0.0.1:{port};
        default_type text/plain;
        location / {{ return 200 "hello world\\n"; }}
        location /login {{
            add_header Set-Cookie "session=$request_id; Path=/; HttpOnly";
            return 200 "hello world\n";
        }}
        location /status {{ stub_status; }}
        location /squeezed {{ root {folder}; }}
    }}
}}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """What the oracle saw, in order of arrival; arrays are (n_arrivals,)."""

    at_ns: NDArray[np.int64]
    answered_ns: NDArray[np.int64]
    """0: never."""
    connection: NDArray[np.int64]
    path: list[str]
    stalls_ns: list[tuple[int, int]]


class Oracle:
    """The oracle as a process of its own, on the server's core.

    Its clock is `time.monotonic_ns`. Leaving the `with` block ends it; so does our own end,
    because it ends with its standard input.
    """

    def __init__(
        self, setting: Setting, *options: str, cpu: int | None = None, before: Sequence[str] = ()
    ) -> None:
        cpu = setting.server_cpu if cpu is None else cpu
        self._process = Background([*before, str(ORACLE), "--cpu", str(cpu), *options])
        try:
            said = json.loads(self._process.first_line(START_PATIENCE_S))
        except BaseException:
            self._process.end()
            raise
        self.address: str = said["address"]
        self.doors: list[str] = [each["address"] for each in said.get("doors", [])]
        """All places at which it listens, the last one where the last option says."""
        self.pid: int = said["pid"]
        host, _, port = self.address.rpartition(":")
        self.port = int(port)
        self._place = (host, self.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End it."""
        self._process.end()

    def n_requests(self) -> int:
        """Return how many requests it has read to their last byte, but for those of ours."""
        return int(self.stats()["requests"])

    def stats(self) -> dict[str, Any]:
        """Return its counts."""
        return self._asked("/oracle/stats")

    def log(self) -> Log:
        """Return what it saw. The oracle is busy while it writes that down.

        Raises:
            BenchError: It had no room for all.
        """
        said = self._asked("/oracle/log")
        if said["dropped"]:
            raise BenchError(f"the oracle's log dropped {said['dropped']} arrivals")
        arrivals = said["arrivals"]
        return Log(
            at_ns=np.array([each["at_ns"] for each in arrivals], dtype=np.int64),
            answered_ns=np.array([each["answered_ns"] or 0 for each in arrivals], dtype=np.int64),
            connection=np.array([each["connection"] for each in arrivals], dtype=np.int64),
            path=[each["path"] for each in arrivals],
            stalls_ns=[(first, last) for first, last in said["stalls_ns"]],
        )

    def stall(self, duration_s: float) -> None:
        """Freeze it, from now on."""
        self._asked(f"/oracle/stall/{duration_s * 1e9:.0f}ns")

    def stall_accept(self, duration_s: float) -> None:
        """Let it accept no connection, from now on."""
        self._asked(f"/oracle/stall-accept/{duration_s * 1e9:.0f}ns")

    def _asked(self, path: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection(*self._place, timeout=60)
        try:
            connection.request("GET", path)
            said = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise BenchError(f"the oracle did not answer {path}: {error}") from error
        finally:
            connection.close()
        if not isinstance(said, dict):
            raise BenchError(f"the oracle answered {path} with {said!r}")
        return said


class Nginx:
    """nginx with one worker on the server's core, which answers 12 bytes out of memory."""

    def __init__(self, setting: Setting) -> None:
        self._place = ("127.0.0.1", free_port())
        self.address = "{}:{}".format(*self._place)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self._folder = setting.scratch / f"nginx-{self._place[1]}"
        (self._folder / "squeezed").mkdir(parents=True)
        # Random enough to be work for gzip, the same each time.
        numbers = np.random.default_rng(1).integers(0, 1 << 30, size=2000)
        (self._folder / "squeezed" / "numbers.txt").write_text("\n".join(map(str, numbers)))
        file = self._folder / "nginx.conf"
        affinity = format(1 << setting.server_cpu, "b").zfill(os.cpu_count() or 1)
        file.write_text(
            _NGINX.format(folder=self._folder, port=self._place[1], affinity=affinity)
            + ("" if os.getuid() else "user root;\n")
        )
        self._process = Background(
            [program, "-e", str(self._folder / "error.log"), "-c", str(file)],
            cpu=setting.server_cpu,
        )
        try:
            self._wait()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End it, and its files with it."""
        self._process.end(signal.SIGTERM)
        shutil.rmtree(self._folder, ignore_errors=True)

    def n_requests(self) -> int:
        """Return how many requests it has seen, but for those of ours."""
        self._n_asked += 1
        return int(self._status().split("requests")[1].split()[2]) - self._n_asked

    def _wait(self) -> None:
        deadline_s = time.monotonic() + START_PATIENCE_S
        self._n_asked = 0
        while time.monotonic() < deadline_s and self._process.is_running:
            try:
                self._status()
            except BenchError:
                time.sleep(0.02)
            else:
                self._n_asked = 1
                return
        raise BenchError(f"nginx did not start: {self._process.errors().strip()[-800:]}")

    def _status(self) -> str:
        connection = http.client.HTTPConnection(*self._place, timeout=5)
        try:
            connection.request("GET", "/status")
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise BenchError(f"nginx did not answer: {error}") from error
        finally:
            connection.close()


def free_port() -> int:
    """Return a port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def allow_descriptors() -> int:
    """Raise our limit of open files as far as it goes; children have it too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def check_built() -> None:
    """Refuse to begin without the oracle.

    Raises:
        BenchError: With the command that builds it.
    """
    if not Path(ORACLE).is_file():
        raise BenchError("the oracle is not built: `cargo build --release -p httpdyno-oracle`")
