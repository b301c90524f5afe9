"""System calls per request, beside those that the book counted.

*Practical mod_perl* (Bekman and Cholet, 2004, chapter 11) counts what Apache 1.3 asked of the file
system before a handler had its turn, at a place that no file stands for, in four configurations.
Here the same is counted in Apache of today by `census_of`, the function behind `httpdyno inspect
--census`, under both handlers of mod_perl, and for comparison a program under gunicorn and under
php-fpm. Counts depend on how deep the document root lies: three folders, as the book's.

Fails where what is to have no call has one, or where not all requests took the same. Needs root,
apache2 with mod_perl and strace; nginx and php-fpm for their line.

Example:
    .venv/bin/python -m research.census
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.commands import exit_on_signals
from tests.real.foreground import free_port, started_in
from tests.real.sites.walked import URL_PATH, WAYS, walked_site

from httpdyno.errors import HttpdynoError
from httpdyno.load.one_by_one import OneByOne
from httpdyno.load.target import parse_url
from httpdyno.telemetry.syscalls.count import (
    SyscallProfile,
)
from httpdyno.telemetry.syscalls.strace import (
    N_REQUESTS,
    census_of,
)

BOOK = {
    "AllowOverride All": (5, 4),
    "AllowOverride None": (5, 0),
    "None + Alias /news/ /": (1, 0),
    "None + PerlTransHandler": (0, 0),
}
"""Calls of stat(), lstat() among them, and opens of a `.htaccess`: pages 394 and 395, `/foo/test`
and `Alias /foo/ /`; the walk for `/news/perl/mod_perl/summary` has five calls too, page 392."""
Start = Callable[[Sequence[str], int], int]
"""Starts a command that listens at a port, and returns its process."""
FREE = {"None + PerlTransHandler", "None + PerlMapToStorageHandler"}
"""Where no file is looked for."""
SHORTER = "None + Alias /news/ /"
_HEAD = f"{'':<46}{'stat':>6}{'lstat':>7}{'.htaccess':>11}{'all':>6}   book: stat, .htaccess"
_PHP_FPM = """[global]
error_log = {folder}/fpm.log
daemonize = no
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:{fpm_port}
pm = static
pm.max_children = 2
"""
_NGINX = """pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
daemon off;
user nobody nogroup;
events {{}}
http {{
  access_log off;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME {folder}/docs/news.php;
      fastcgi_pass 127.0.0.1:{fpm_port};
    }}
  }}
}}
"""
_WSGI = """def app(environ, answer):
    answer("200 OK", [("Content-Length", "5")])
    return [b"news\\n"]
"""


def main() -> int:
    """Print the table; 0 where all is as it has to be, 1 where not, 3 where nothing is counted."""
    # What was started is ended, however this one is.
    exit_on_signals()
    arguments = parsed()
    print(_HEAD)
    wrong: list[str] = []
    try:
        for handler in ("perl-script", "modperl"):
            counts = dict(counted(handler, arguments.requests))
            wrong += [f"{handler}, {each}" for each in wrong_of(counts)]
        for name, server in {"gunicorn": gunicorn, "php-fpm behind nginx": php_fpm}.items():
            with new_folder() as folder, started_in(folder) as start:
                census = server(folder, start, arguments.requests)
                print(line(name, census), flush=True)
                wrong += [f"{name}: {doubt}" for doubt in census.warnings]
    except HttpdynoError as error:
        print(f"{error}; {error.hint}", file=sys.stderr)
        return 3
    for each in wrong:
        print(f"wrong: {each}")
    return int(bool(wrong))


def counted(handler: str, n: int) -> Iterator[tuple[str, SyscallProfile]]:
    """Yield each way with its calls, and print its line."""
    for way in WAYS:
        with new_folder() as folder, started_in(folder) as start:
            port = free_port()
            pid = start(walked_site(folder, port, way, handler=handler), port)
            census = census_of([pid], asker(port), n)
            print(line(f"{handler}: {way}", census, BOOK.get(way)), flush=True)
            yield way, census


def wrong_of(counts: dict[str, SyscallProfile]) -> list[str]:
    """Return what is not as it has to be, each in a sentence."""
    found = [f"{way}: {doubt}" for way, each in counts.items() for doubt in each.warnings]
    found += [
        f"{way}: not all requests looked for the same"
        for way, each in counts.items()
        if not all(each.of(kind).is_same for kind in ("stat", "lstat", "open"))
    ]
    looked = {way: each.of("stat").mean + each.of("lstat").mean for way, each in counts.items()}
    found += [f"{way}: a file is looked for" for way in counts if way in FREE and looked[way]]
    if not looked["AllowOverride None"] > looked[SHORTER] > 0:
        found.append("an Alias does not shorten the walk")
    opens = {way: each.htaccess_opens.mean for way, each in counts.items()}
    found += [
        f"{way}: {n:g} opens of a `.htaccess`"
        for way, n in opens.items()
        if bool(n) is not (way == "AllowOverride All")
    ]
    return found


def line(name: str, census: SyscallProfile, book: tuple[int, int] | None = None) -> str:
    """Return a line of the table."""
    beside = f"   {book[0]}, {book[1]}" if book else ""
    figures = (census.of("stat"), census.of("lstat"), census.htaccess_opens, census.total)
    stat, lstat, opens, total = (f"{each.mean:g}" for each in figures)
    return f"{name:<46}{stat:>6}{lstat:>7}{opens:>11}{total:>6}{beside}"


def asker(port: int) -> Callable[[], None]:
    """Return what asks once."""
    return OneByOne(parse_url(f"http://127.0.0.1:{port}{URL_PATH}")).ask


@contextmanager
def new_folder() -> Iterator[Path]:
    """Give a folder two folders below `/`, where everybody may look into."""
    with tempfile.TemporaryDirectory(prefix="c-", dir="/srv") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "docs").mkdir()
        yield folder


def gunicorn(folder: Path, start: Start, n: int) -> SyscallProfile:
    """Return the calls of a program under gunicorn."""
    port = free_port()
    (folder / "news.py").write_text(_WSGI)
    words = ["-m", "gunicorn", "news:app", "-w2", "--no-control-socket", "-b", f"127.0.0.1:{port}"]
    return census_of([start([sys.executable, *words], port)], asker(port), n)


def php_fpm(folder: Path, start: Start, n: int) -> SyscallProfile:
    """Return the calls of a program under php-fpm, without those of nginx before it."""
    port, fpm_port = free_port(), free_port()
    (folder / "docs/news.php").write_text('<?php echo "news\\n";')
    for name, text in (("fpm", _PHP_FPM), ("nginx", _NGINX)):
        filled = text.format(folder=folder, port=port, fpm_port=fpm_port)
        (folder / f"{name}.conf").write_text(filled)
    fpm = start(["php-fpm8.2", "-y", str(folder / "fpm.conf"), "-F"], fpm_port)
    start(["nginx", "-c", str(folder / "nginx.conf")], port)
    return census_of([fpm], asker(port), n)


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m research.census",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=N_REQUESTS, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
