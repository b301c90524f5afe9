"""Pools built to have known memory: gunicorn and Apache with mod_perl, each started as by hand.

Four applications: `plain`, whose workers make 8 MB each for themselves; `preloaded`, whose parent
has 50 MB that are only read; `unsharing`, where each request writes into 50 of those 12,500 places;
`leaking`, which keeps 1 KiB (1,024 bytes) of each request, in one growing buffer, so that nothing
is on top of it. A worker stops that after so many requests as `most` says, and then answers slowly:
so all come to the same age, and none gets beyond it. Each answer says who gave it, and at what age.

Perl draws the order of its hashes anew at each start, and by it workers write to other pages: what
a worker has of its own then differs from start to start, in all workers alike (see `--starts`).
What is asked here is whether a pool of a known kind is foretold, so that all starts of a bench have
one order, which the bench draws and tells.
"""

import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

KINDS = ("plain", "preloaded", "unsharing", "leaking")
SERVERS = ("gunicorn", "apache")
LEAK_BYTES = 1024
READY_S = 30.0
ORDER = secrets.randbelow(1 << 32)
_ONE_ORDER = {"PERL_HASH_SEED": f"{ORDER:#x}", "PYTHONHASHSEED": str(ORDER)}
_END_S = 10.0
_TIMEOUT_S = 5.0
_MODULES = Path("/usr/lib/apache2/modules")

_PYTHON = """import os, random, time
KIND, MOST = {kind!r}, {most}
PLACES = 12_500
HAS_CATALOGUE = KIND in ("preloaded", "unsharing")
CATALOGUE = [bytearray(b"x" * 4000) for _ in range(PLACES * HAS_CATALOGUE)]
KEPT = bytearray()
served = 0

if KIND == "plain":
    OWN = [bytearray(b"x" * 4000) for _ in range(2_000)]


def app(environ, answer):
    global served
    served += 1
    if served > MOST:
        time.sleep(0.02)
    elif KIND == "leaking":
        KEPT.extend(bytes({leak}))
    elif KIND == "unsharing":
        for _ in range(50):
            CATALOGUE[random.randrange(PLACES)][100] = 1
    elif KIND == "preloaded":
        len(CATALOGUE[served % PLACES])
    body = f"{{os.getpid()}} {{min(served, MOST)}}\\n".encode()
    answer("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
_PERL = """package Pool;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => 'OK';
my ($kind, $most, $places) = ('{kind}', {most}, 12_500);
my @catalogue = $kind =~ /preloaded|unsharing/ ? map {{ 'x' x 4000 }} 1 .. $places : ();
my ($kept, $served, @own) = ('', 0);
# As a child that loads its application by itself.
sub child {{
    @own = map {{ 'x' x 4000 }} 1 .. 2_000 if $kind eq 'plain';
    srand;
    return Apache2::Const::OK;
}}
sub handler {{
    my $r = shift;
    $served++;
    if ($served > $most) {{ select undef, undef, undef, 0.02; }}
    elsif ($kind eq 'leaking') {{ $kept .= 'x' x {leak}; }}
    elsif ($kind eq 'unsharing') {{ substr($catalogue[rand $places], 100, 1) = 'y' for 1 .. 50; }}
    $r->content_type('text/plain');
    $r->print("$$ ", $served < $most ? $served : $most, "\\n");
    return Apache2::Const::OK;
}}
1;
"""
_APACHE = """ServerRoot {at}
ServerName pool.example
PidFile {at}/pid
DefaultRuntimeDir {at}
Mutex posixsem
ErrorLog {at}/error.log
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule perl_module {modules}/mod_perl.so
Listen 127.0.0.1:{port}
User www-data
Group www-data
KeepAlive Off
ListenBacklog 1024
ServerLimit {n}
StartServers {n}
MinSpareServers {n}
MaxSpareServers {beyond}
MaxRequestWorkers {n}
MaxConnectionsPerChild 0
PerlPostConfigRequire {at}/Pool.pm
PerlChildInitHandler Pool::child
SetHandler modperl
PerlResponseHandler Pool
"""


@contextmanager
def pool(  # noqa: PLR0913 - what a pool is made of
    server, kind, n_workers, folder, *, most=1 << 60, group=None, is_drawn=False
):
    """Start a pool; gives its parent's pid and its port, and ends it.

    Args:
        server: `gunicorn` or `apache`.
        kind: One of `KINDS`.
        n_workers: Of the pool.
        folder: That it may have; everybody may look into it.
        most: Requests after which a worker grows no more.
        group: The control group that it is to be in.
        is_drawn: Whether its hashes have an order of this start's own.
    """
    port = _free_port()
    command = _command(server, kind, n_workers, folder, port, most)
    if group is not None:
        command = ["sh", "-c", f'echo $$ > "{group.procs}" && exec "$@"', "sh", *command]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(is_drawn),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process, port
    finally:
        _end(process)


def has(server):
    """Whether what it takes is installed."""
    return server == "gunicorn" or (
        shutil.which("apache2", path=_path()) is not None and (_MODULES / "mod_perl.so").exists()
    )


def aged(  # noqa: PLR0913 - who is asked, and when that ends
    process, port, n_workers, most, *, is_over, patience_s
):
    """Ask until each of so many workers is at its age; return whether that came to be.

    Args:
        process: Of the parent.
        port: Where it listens.
        n_workers: That are to be at their age.
        most: Requests of a worker.
        is_over: Asked now and then: whether there is no use in going on.
        patience_s: The longest.
    """
    done, stop = set(), threading.Event()

    def ask():
        while not stop.is_set():
            answer = asked(port)
            if answer is None:
                time.sleep(0.05)
            elif answer[1] >= most:
                done.add(answer[0])

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(8)]
    for each in threads:
        each.start()
    deadline_s = time.monotonic() + patience_s
    while len(done) < n_workers and time.monotonic() < deadline_s:
        if process.poll() is not None or is_over():
            break
        time.sleep(0.1)
    stop.set()
    for each in threads:
        each.join(2 * _TIMEOUT_S)
    return len(done) >= n_workers


def asked(port):
    """Return (pid, requests served) of who answered; None where nobody did."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/")
        return tuple(map(int, connection.getresponse().read().split()))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def _command(server, kind, n_workers, folder, port, most):  # noqa: PLR0913, PLR0917 - as above
    at = Path(folder)
    if server == "gunicorn":
        (at / "pool.py").write_text(_PYTHON.format(kind=kind, most=most, leak=LEAK_BYTES))
        preload = [] if kind == "plain" else ["--preload"]
        words = ["gunicorn", "pool:app", f"-w{n_workers}", *preload, "--no-control-socket"]
        # A worker that memory keeps waiting is slow, not hung.
        return [sys.executable, "-m", *words, "-b", f"127.0.0.1:{port}", "--timeout", "120"]
    (at / "Pool.pm").write_text(_PERL.format(kind=kind, most=most, leak=LEAK_BYTES))
    values = {"at": at, "port": port, "modules": _MODULES, "n": n_workers, "beyond": n_workers + 1}
    (at / "apache.conf").write_text(_APACHE.format(**values))
    program = shutil.which("apache2", path=_path())
    return [program, "-f", str(at / "apache.conf"), "-DFOREGROUND"]


def _environment(is_drawn):
    others = {name: value for name, value in os.environ.items() if name not in _ONE_ORDER}
    return others if is_drawn else others | _ONE_ORDER


def _path():
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


def _end(process):
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Its session is its own: all that are left of it are of this pool.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
