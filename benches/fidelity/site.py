"""nginx with php-fpm in a folder, as a person starts them by hand: nothing is written beside it."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from httpdyno.errors import HttpdynoError
from httpdyno.model import Member
from httpdyno.servers.adapter import Place
from httpdyno.servers.limits.control_group import make_group, remove_group
from httpdyno.servers.run.live_process import MARK
from httpdyno.servers.run.record import mark_of
from httpdyno.servers.stack.environment import member_environment

PATHS = {"static": "/style.css", "php": "/index.php"}
"""Load → what is asked for."""
PHP_PROGRAM = "php-fpm8.2"
READY_S = 15.0

_NGINX = """{user}worker_processes 1;
pid {at}/run/nginx.pid;
error_log {at}/log/error.log;
events {{ worker_connections 768; }}
http {{
    include /etc/nginx/mime.types;
    access_log {at}/log/access.log;
    client_body_temp_path {at}/tmp/body;
    proxy_temp_path {at}/tmp/proxy;
    fastcgi_temp_path {at}/tmp/fastcgi;
    uwsgi_temp_path {at}/tmp/uwsgi;
    scgi_temp_path {at}/tmp/scgi;
    keepalive_requests 1000000;
    sendfile on;
    server {{
        listen 127.0.0.1:{port};
        server_name shop.example;
        root {at}/www;
        location ~ \\.php$ {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass unix:{at}/run/php.sock;
        }}
    }}
}}
"""
_FPM = """[global]
pid = {at}/run/php.pid
error_log = {at}/log/php.log
include = {at}/etc/pool.d/*.conf
"""
_POOL = """[www]
{user}listen = {at}/run/php.sock
listen.mode = 0666
pm = static
pm.max_children = 4
"""
_INDEX = """<?php
$found = [];
for ($n = 0; $n < 500; $n++) { $found[] = md5((string) $n); }
sort($found);
echo '<h1>shop</h1>', implode(' ', array_slice($found, 0, 20)), "\\n";
"""


@dataclass(frozen=True, kw_only=True)
class HandSite:
    """A site in a folder of its own."""

    folder: Path
    port: int

    @property
    def front(self) -> Member:
        """The nginx of it."""
        return Member(name="nginx", kind="nginx", main=f"{self.folder}/etc/nginx.conf")

    @property
    def php(self) -> Member:
        """The php-fpm of it."""
        program = shutil.which(PHP_PROGRAM) or PHP_PROGRAM
        main = f"{self.folder}/etc/php-fpm.conf"
        return Member(name="php", kind="php-fpm", main=main, program=program)

    @property
    def writes(self) -> tuple[str, ...]:
        """Folders that it writes in."""
        return tuple(f"{self.folder}/{name}" for name in ("run", "log", "tmp"))


def written_site(folder: Path) -> HandSite:
    """Write a site below a folder that everybody may look into.

    Its pages do not lie below its configuration: a cell lays a copy over that whole folder.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port = held.getsockname()[1]
    for name in ("", "run", "log", "tmp", "www", "etc", "etc/pool.d"):
        (folder / name).mkdir(mode=0o755)
    is_root = os.geteuid() == 0
    users = {"nginx": "user www-data;\n", "pool": "user = www-data\ngroup = www-data\n"}
    for name, text in (
        ("etc/nginx.conf", _NGINX.format(at=folder, port=port, user=users["nginx"] * is_root)),
        ("etc/php-fpm.conf", _FPM.format(at=folder)),
        ("etc/pool.d/www.conf", _POOL.format(at=folder, user=users["pool"] * is_root)),
        ("www/index.php", _INDEX),
        ("www/style.css", "body { margin: 0 }\n" * 100),
    ):
        (folder / name).write_text(text)
    return HandSite(folder=folder, port=port)


@contextmanager
def by_hand(site: HandSite, place: Place):
    """Start both as a person does; their process ids, and both end with it.

    Their environment is as long as that of copies in a place whose name is as long. php-fpm keeps
    it on its heap, and a longer one moves all that comes after: a table of 18,856 bytes that is
    cleared for each request took 0.5 % of the time at one place and 2.9 % at another.

    Each is in a control group of its own, as a copy is and as every unit of systemd is: the kernel
    keeps the account of CPU time and pressure at each switch once more for each level of groups,
    so nobody's server at the top of the tree, where none runs on a machine with systemd, is what a
    copy would be like.
    """
    with ExitStack() as stack:
        commands = (
            (site.front, ("nginx", "-c", site.front.main, "-g", "daemon off;")),
            (site.php, (site.php.program, "--nodaemonize", "--fpm-config", site.php.main)),
        )
        pids = []
        for member, command in commands:
            text = mark_of(place, place.folder / f"{member.name}.log").text
            mark = {"X" * len(MARK): text}
            # A session each, as daemons have one: the kernel schedules by session (autogroup), and
            # front and backend of one session take turns otherwise than those of two.
            group = make_group(f"{os.getpid()}-{place.folder.name}-{member.name}")
            if group:
                stack.callback(remove_group, group)
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**member_environment(member, place, has_all=True), **mark},
                start_new_session=True,
                preexec_fn=partial(entered, group) if group else None,  # noqa: PLW1509 - no threads
            )
            stack.callback(ended, process)
            pids.append(process.pid)
        deadline_s = time.monotonic() + READY_S
        while not all(answers(site.port, path) for path in PATHS.values()):
            if time.monotonic() > deadline_s:
                log = (site.folder / "log/error.log").read_text()
                raise HttpdynoError(f"the site that was started by hand does not answer: {log}")
            time.sleep(0.02)
        yield tuple(pids)


def entered(group: Path) -> None:
    """Have this process join a control group."""
    (group / "cgroup.procs").write_text("0")


def answers(port: int, path: str) -> bool:
    """Whether it says 200."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)) as connection:
        try:
            connection.request("GET", path)
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False


def ended(process: subprocess.Popen) -> None:
    """End it and wait for that."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(READY_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
