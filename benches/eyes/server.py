"""Debian's stock Apache as prefork with mod_perl, a private one in a folder of the bench's own."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.bottlenecks.place import NotBuiltError, Place, free_port
from tests.real.sites.apache import MODULES, STOCK, enable, moved, write

from httpdyno.servers.run.live_process import child_pids

STOCK_WORKERS = 5
"""Debian's StartServers."""
READY_S = 20.0
_SBIN = "/usr/sbin:/usr/local/sbin"
_START = (
    '. "$APACHE_CONFDIR/envvars" && exec "$0" -d "$APACHE_CONFDIR" -f apache2.conf -DFOREGROUND'
)
"""As Debian's apache2ctl starts it."""
_POOL = """StartServers {n}
MinSpareServers {n}
MaxSpareServers {beyond}
ServerLimit {n}
MaxRequestWorkers {n}
MaxConnectionsPerChild 0
MaxKeepAliveRequests 0
KeepAliveTimeout 60
"""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that runs."""

    pid: int
    """Of its parent."""
    port: int


def missing() -> str:
    """Return what is not installed here; empty where all is."""
    modules = (MODULES / "mod_mpm_prefork.so", MODULES / "mod_perl.so")
    parts = [str(each) for each in (STOCK / "apache2.conf", *modules) if not each.exists()]
    return ", ".join(parts if _program() else ["apache2", *parts])


@contextmanager
def apache(n_workers: int | None = None) -> Iterator[Running]:
    """Start one and give it when all of its workers are there; it ends with that.

    Args:
        n_workers: A pool that is always as large, and writes no log of requests; None: as the
            package has it.
    """
    with tempfile.TemporaryDirectory(prefix="httpdyno-eyes-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server's user looks into it
        port = free_port()
        etc = _written(folder, port, n_workers)
        place = Place(folder=folder)
        with place.stack:
            pid = place.started(
                ["/bin/sh", "-c", _START, _program()],
                port=port,
                environment={"APACHE_CONFDIR": str(etc)},
            )
            _await_workers(pid, n_workers or STOCK_WORKERS)
            yield Running(pid=pid, port=port)


def _written(folder: Path, port: int, n_workers: int | None) -> Path:
    etc = folder / "etc/apache2"
    # Links stay links: Debian enables a file by a link to where it is available.
    shutil.copytree(STOCK, etc, symlinks=True)
    for name in ("run", "lock", "log"):
        (folder / f"var/{name}/apache2").mkdir(parents=True)
    moved(etc / "envvars", {"=/var/": f"={folder}/var/"})
    moved(etc / "ports.conf", {"Listen 80": f"Listen 127.0.0.1:{port}"})
    moved(etc / "apache2.conf", {"<Directory /var/www/>": f"<Directory {folder}/srv/>"})
    site = etc / "sites-available/000-default.conf"
    moved(site, {"*:80": f"*:{port}", "/var/www/html": f"{folder}/srv"})
    write(folder / "srv/index.html", "<p>It works, and is looked at.</p>\n" * 50)
    for link in (etc / "mods-enabled").glob("mpm_*"):
        link.unlink()
    for each in ("mpm_prefork.load", "mpm_prefork.conf", "perl.load"):
        enable(etc, "mods", each)
    if n_workers is not None:
        text = _POOL.format(n=n_workers, beyond=n_workers + 1)
        write(etc / "mods-available/mpm_prefork.conf", text)
        # A minute at full load would write a hundred megabytes.
        moved(site, {"${APACHE_LOG_DIR}/access.log": "/dev/null"})
    return etc


def _await_workers(pid: int, n_workers: int) -> None:
    deadline_s = time.monotonic() + READY_S
    while len(child_pids(pid)) < n_workers:
        if time.monotonic() > deadline_s:
            raise NotBuiltError(f"{len(child_pids(pid))} of {n_workers} workers came up")
        time.sleep(0.02)


def _program() -> str:
    return shutil.which("apache2", path=f"{os.environ.get('PATH', '')}:{_SBIN}") or ""
