"""Whether private copies take what people have: layouts of nginx and Apache, in both seats.

Debian's stock nginx and Apache (event, prefork) with three sites each (static files, PHP by
php-fpm, TLS with two certificates chosen by name; `.htaccess`, rewrite rules, a piped log), and
the layouts that the tests write. Each is written below a folder of its own; the machine's
configuration is only read. In a cell and behind a wall the server tests the copy with its own
test (`-t`), as found and with several knobs edited at once; each byte that no edit names must be
what it was, undone edits must give the original, and no file of the layout may be touched. Where
this build lacks a module, the server's test is `not run`, which is told and is no failure. Needs
root, nginx, apache2 and openssl.

Example:
    .venv/bin/python -m benches.layouts
    .venv/bin/python -m benches.layouts --only certbot --isolation cell
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.real.sites.apache import one_file_tree, rhel_tree
from tests.real.sites.stock import stock_apache, stock_nginx
from tests.real.sites.taken import bytes_below, moved_bytes, refused_in_seat
from tests.real.test_apache_site import VALUES, seat_in
from tests.real.test_nginx_edits import at_home
from tests.servers.nginx.layouts import LAYOUTS
from tests.servers.nginx.levels import levels_of

from httpdyno.errors import HttpdynoError
from httpdyno.model import Member, Survey
from httpdyno.servers.apache_site import ApacheSite
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.run_folder import new_run_root
from httpdyno.servers.site.isolation import seat_maker

KINDS = ("cell", "wall")
KNOBS = ("worker_connections", "keepalive_timeout", "gzip", "sendfile", "open_file_cache")
NGINX, APACHE = Nginx(), ApacheSite()


def main() -> int:
    """Tell each layout; 0 where all are taken, 1 where one is not, 3 where none can be tried."""
    arguments = parsed()
    for kind in arguments.isolation:
        if isinstance(why_not := seat_maker(kind), str):
            print(f"cannot be tried here: {why_not}", file=sys.stderr)
            return 3
    chosen = {name: write for name, write in layouts().items() if arguments.only in name}
    n_failed = 0
    print(f"{'layout':<24}{'seat':<6}{'own test':<10}{'other bytes':<13}reason")
    for name, (adapter, write, needs) in chosen.items():
        with tempfile.TemporaryDirectory(prefix="l-", dir=arguments.below) as folder:
            Path(folder).chmod(0o755)
            for kind, test, kept, reason in tried(adapter, write, needs, folder, arguments):
                n_failed += "failed" in {test, kept}
                print(f"{name:<24}{kind:<6}{test:<10}{kept:<13}{reason}".rstrip(), flush=True)
    print(f"{len(chosen)} layouts, {n_failed} lines failed")
    return int(n_failed > 0 or not chosen)


def layouts():
    """Return name → adapter, what writes it below a folder, module that its test lacks."""
    found = {
        "stock nginx": (NGINX, stock_nginx, ""),
        "stock apache event": (APACHE, stock_apache, ""),
        "stock apache prefork": (APACHE, lambda root: stock_apache(root, mpm="prefork"), ""),
        "apache rhel": (APACHE, lambda root: rhel_tree(root).member, ""),
        "apache one-file": (APACHE, lambda root: one_file_tree(root).member, ""),
    }
    for layout in LAYOUTS:
        found[f"nginx {layout.name}"] = (
            NGINX,
            lambda root, it=layout: member(it, root),
            layout.needs,
        )
    return found


def member(layout, root):
    """Write a layout of the tests."""
    return Member(name="nginx", kind="nginx", main=str(at_home(layout, root)))


def tried(adapter, write, needs, folder, arguments):
    """Yield seat, verdict of its own test, verdict of the other bytes, reason."""
    try:
        # Short, as theirs are: a unix socket's path behind a wall begins with the copy's folder,
        # and the kernel takes 107 bytes.
        (root := Path(folder) / "s").mkdir()
        theirs = write(root)
        asked = seat_in(Path(folder)) if adapter is APACHE else None
        files = adapter.read(theirs)
        survey = adapter.survey(theirs, files, asked)
        if not isinstance(survey, Survey):
            yield "-", "failed", "failed", one_line(survey.detail)
            return
        values = several(adapter, survey)
        edits = adapter.change_set(survey, files, values).edits
    except (HttpdynoError, OSError) as error:
        yield "-", "failed", "failed", one_line(str(error))
        return
    before = bytes_below(root)
    for kind in arguments.isolation:
        moved = moved_bytes(files, edits) if edits else "no knob of it could be edited"
        refused = "" if needs else in_seat(adapter, theirs, survey, values, kind)
        if not moved and bytes_below(root) != before:
            moved = "files of the layout were touched"
        test = "not run" if needs else "failed" if refused else "passed"
        reason = refused or moved or (f"this build lacks {needs}" if needs else "")
        yield kind, test, "failed" if moved else "passed", one_line(reason)


def in_seat(adapter, theirs, survey, values, kind):
    """Return why it is not taken, as found and as edited; empty where it is."""
    with new_run_root() as root:
        for name, given in {"found": {}, "edited": values}.items():
            try:
                why = refused_in_seat(
                    adapter, theirs, survey, given, kind=kind, place=root.new_place(name)
                )
            except HttpdynoError as error:
                why = str(error)
            if why:
                return f"as {name}: {why}"
    return ""


def several(adapter, survey):
    """Return levels for several knobs, none of which is in force."""
    knobs = adapter.knobs(survey)
    if adapter is APACHE:
        return {name: level for name, level in VALUES.items() if name in knobs}
    return {
        name: [
            each for each in levels_of(name, knobs[name].default) if each != knobs[name].default
        ][-1]
        for name in KNOBS
        if name in knobs
    }


def one_line(text):
    """Return words on one line."""
    return " | ".join(text.splitlines())


def parsed():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.layouts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="layouts with this in their name"
    )
    parser.add_argument("--below", default="/srv", metavar="DIR", help="where they lie [/srv]")
    parser.add_argument("--isolation", nargs="+", choices=KINDS, default=KINDS)
    return parser.parse_args()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
