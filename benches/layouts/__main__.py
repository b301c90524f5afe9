"""Whether private copies take what people have: layouts of nginx and Apache, in both seats.

Debian's stock nginx and Apache (event, prefork) with three sites each (static files, a program of
PHP by Debian's stock php-fpm or of mod_perl, TLS with two certificates chosen by name; `.htaccess`,
rewrite rules, a piped log), and the layouts that the tests write. Each is written below a folder of
its own; the machine's configuration is only read. In a cell and behind a wall

- the server tests the copy with its own test (`-t`), as found and with several knobs edited;
- each byte that no edit names must be what it was, undone edits must give the original, and no file
  of the layout may be touched;
- of the stock ones each site is asked in a copy that runs, as found and as edited: the static page,
  what the program computes, the URL that is rewritten, the rule of an `.htaccess`, the line of the
  piped log, and by each name over TLS the certificate of that name.

Where a module of nginx is neither installed nor unpacked (`make bench-layouts` unpacks it), the
server's test is `not run`, which is told and is no failure. Needs root, nginx, apache2 with
mod_perl, php-fpm and openssl.

Example:
    make bench-layouts
    .venv/bin/python -m benches.layouts --only certbot --isolation cell
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benches.layouts.modules import found_modules
from tests.commands import exit_on_signals
from tests.real.sites.apache import one_file_tree, rhel_tree
from tests.real.sites.served import wrong_answers
from tests.real.sites.stock import StockSite, stock_apache, stock_nginx
from tests.real.sites.taken import bytes_below, moved_bytes, refused_in_seat
from tests.real.test_apache_site import VALUES, seat_in
from tests.real.test_nginx_edits import at_home
from tests.servers.nginx.layouts import LAYOUTS
from tests.servers.nginx.levels import levels_of

from httpdyno.errors import HttpdynoError
from httpdyno.model import Member, Survey
from httpdyno.report.shared.message import text
from httpdyno.servers.apache import Apache
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.seats import seat_maker

KINDS = ("cell", "wall")
KNOBS = ("worker_connections", "keepalive_timeout", "gzip", "sendfile", "open_file_cache")
NGINX, APACHE = Nginx(), Apache()
MODULES = found_modules()


def main() -> int:
    """Tell each layout; 0 where all are taken, 1 where one is not, 3 where none can be tried."""
    # What was started is ended, however this one is.
    exit_on_signals()
    arguments = parsed()
    for kind in arguments.isolation:
        if isinstance(why_not := seat_maker(kind), str):
            print(f"cannot be tried here: {why_not}", file=sys.stderr)
            return 3
    chosen = {name: write for name, write in layouts().items() if arguments.only in name}
    n_failed = n_not_run = 0
    print(f"{'layout':<24}{'seat':<6}{'own test':<10}{'other bytes':<13}{'served':<10}reason")
    for name, (adapter, write, needs) in chosen.items():
        with tempfile.TemporaryDirectory(prefix="l-", dir=arguments.below) as folder:
            Path(folder).chmod(0o755)
            for kind, test, kept, served, reason in tried(adapter, write, needs, folder, arguments):
                n_failed += bool(reason) and test != "not run"
                n_not_run += test == "not run"
                line = f"{name:<24}{kind:<6}{test:<10}{kept:<13}{served:<10}{reason}"
                print(line.rstrip(), flush=True)
    print(f"{len(chosen)} layouts, {n_failed} lines failed, {n_not_run} not run")
    return int(n_failed > 0 or not chosen)


def layouts():
    """Return name → adapter, what writes it below a folder, module that it needs and lacks here."""
    found = {
        "stock nginx": (NGINX, stock_nginx, ""),
        "stock apache event": (APACHE, stock_apache, ""),
        "stock apache mod_perl": (APACHE, lambda root: stock_apache(root, mpm="prefork"), ""),
        "apache rhel": (APACHE, lambda root: alone(rhel_tree(root).member), ""),
        "apache one-file": (APACHE, lambda root: alone(one_file_tree(root).member), ""),
    }
    for layout in LAYOUTS:
        found[f"nginx {layout.name}"] = (
            NGINX,
            lambda root, it=layout: alone(member(it, root)),
            "" if not layout.needs or MODULES.has(layout.needs) else layout.needs,
        )
    return found


def alone(one):
    """Return a site of one member that is asked nothing."""
    return StockSite(members=(one,), questions=())


def member(layout, root):
    """Write a layout of the tests."""
    main = at_home(layout, root)
    if layout.needs and MODULES.has(layout.needs):
        MODULES.load(layout.needs, main)
    return Member(name="nginx", kind="nginx", main=str(main))


def tried(adapter, write, needs, folder, arguments):
    """Yield seat, verdicts of its own test, of the other bytes and of what is served, reason."""
    try:
        (root := Path(folder) / "site").mkdir()
        site = write(root)
        theirs = site.front
        asked = seat_in(Path(folder)) if adapter is APACHE else None
        files = adapter.read(theirs)
        survey = adapter.survey(theirs, files, asked)
        if not isinstance(survey, Survey):
            yield "-", "failed", "failed", "-", one_line(text(survey.detail))
            return
        values = several(adapter, survey)
        edits = adapter.change_set(survey, files, values).edits
    except (HttpdynoError, OSError) as error:
        yield "-", "failed", "failed", "-", one_line(str(error))
        return
    before = bytes_below(root)
    for kind in arguments.isolation:
        moved = moved_bytes(files, edits) if edits else "no knob of it could be edited"
        refused = "" if needs else in_seat(adapter, theirs, survey, values, kind)
        wrong = wrong_in_seat(site, values, kind) if site.questions else []
        if not moved and bytes_below(root) != before:
            moved = "files of the layout were touched"
        test = "not run" if needs else "failed" if refused else "passed"
        n_asked = 2 * (len(site.questions) + bool(site.piped_log))
        served = "-" if not n_asked else "failed" if wrong else f"{n_asked} of {n_asked}"
        reasons = [refused, moved, *wrong, f"nginx's module {needs} is not here" if needs else ""]
        reason = "; ".join(filter(None, reasons))
        yield kind, test, "failed" if moved else "passed", served, one_line(reason)


def in_seat(adapter, theirs, survey, values, kind):
    """Return why it is not taken, as found and as edited; empty where it is."""
    with new_run_root() as root:
        for name, given in {"found": {}, "edited": values}.items():
            try:
                why = refused_in_seat(
                    *(adapter, theirs, survey, given),
                    kind=kind,
                    place=root.new_place(name),
                    variables=MODULES.environment if adapter is NGINX else {},
                )
            except HttpdynoError as error:
                why = str(error)
            if why:
                return f"as {name}: {why}"
    return ""


def wrong_in_seat(site, values, kind):
    """Return what is answered wrong, as found and as edited."""
    wrong = []
    with new_run_root() as root:
        for name, given in {"found": {}, "edited": values}.items():
            try:
                place = root.new_place(name)
                said = wrong_answers(site, given, kind=kind, place=place)
            except HttpdynoError as error:
                said = [str(error)]
            wrong += [f"as {name}: {each}" for each in said]
    return wrong


def several(adapter, survey):
    """Return levels for several knobs, none of which is in force."""
    knobs = adapter.knobs(survey)
    if adapter is APACHE:
        return {name: level for name, level in VALUES.items() if name in knobs}
    levels = {name: levels_of(name, knobs[name].default) for name in KNOBS if name in knobs}
    # The largest one takes more open files than some machines allow.
    levels |= {name: [2000] for name in levels if name == "worker_connections"}
    return {
        name: [each for each in found if each != knobs[name].default][-1]
        for name, found in levels.items()
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
