"""Sites as people run them, each with a planted mistake, below a folder of the test's.

Nothing is edited for a copy's sake: ports stand in code and configuration, what is written goes
where Debian writes it. Each is adopted as its owner would say it; all are to be run in a cell.
"""

import shutil
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.real.sites.apache import MODULES, STOCK, enable, moved, write

from httpdyno.model import Level

WAIT_MS = 4
"""What a page waits for its database."""


@dataclass(frozen=True, kw_only=True)
class OwnSite:
    """A site, how its owner names it, and what is wrong with it."""

    folder: Path
    """All of its files, and where its owner stands."""
    source: tuple[str, ...]
    """Words after `adopt`; a command comes after `--`."""
    options: tuple[str, ...] = ()
    mistakes: Mapping[str, tuple[Level, Level]] = field(default_factory=dict)
    """Knob as the study names it → what is planted, and a level that is proposed."""

    @property
    def files(self) -> dict[str, bytes]:
        """All of its files, to see that none was touched and none was added."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found}


def mod_perl(folder: Path) -> OwnSite:
    """Debian's Apache as prefork with mod_perl: a process is replaced after 20 connections."""
    etc = _apache(folder, mpm="prefork", modules=("perl",))
    write(etc / "mods-available/mpm_prefork.conf", _PREFORK)
    write(folder / "www/img/.htaccess", "Options -Indexes\n")
    write(folder / "www/img/index.html", "img\n")
    write(folder / "startup.pl", _PERL.format(wait=WAIT_MS / 1000))
    site = _PERL_SITE.format(folder=folder)
    write(etc / "sites-available/shop.conf", site)
    enable(etc, "sites", "shop.conf")
    _open(folder)
    return OwnSite(
        folder=folder,
        source=(str(etc / "apache2.conf"),),
        options=("--get", "/app", "--get", "/img/index.html", "--allow", "inline"),
        mistakes={
            "apache:MaxConnectionsPerChild": (20, 10_000),
            "apache:htaccess": ("found", "inlined"),
        },
    )


def proxied(folder: Path) -> OwnSite:
    """Apache as event before a gunicorn with one worker, which waits for its database."""
    etc = _apache(folder, mpm="event", modules=("proxy", "proxy_http"))
    write(etc / "sites-available/shop.conf", _PROXY_SITE.format(folder=folder))
    enable(etc, "sites", "shop.conf")
    write(folder / "shop.py", _WSGI.format(wait=WAIT_MS / 1000))
    gunicorn = virtualenv(folder / "venv", "gunicorn")
    write(folder / "Procfile", f"web: {gunicorn} shop:app --bind 127.0.0.1:8001 --workers 1\n")
    _open(folder)
    return OwnSite(
        folder=folder,
        source=(str(etc / "apache2.conf"),),
        options=("--with", str(folder / "Procfile"), "--get", "/"),
        mistakes={"gunicorn:workers": (1, 2)},
    )


def own_gunicorn(folder: Path) -> OwnSite:
    """A gunicorn of a virtualenv of its own; each process imports all after 60 requests."""
    write(folder / "shop.py", _IMPORT + _WSGI.format(wait=WAIT_MS / 1000))
    write(folder / "gunicorn.conf.py", _GUNICORN)
    virtualenv(folder / "venv", "gunicorn")
    _open(folder)
    return OwnSite(
        folder=folder,
        source=("--", "venv/bin/gunicorn", "shop:app"),
        options=("--get", "/"),
        mistakes={"gunicorn:workers": (1, 2), "gunicorn:max_requests": (60, 10_000)},
    )


def own_uvicorn(folder: Path) -> OwnSite:
    """A uvicorn with one process, whose application waits without letting others go on."""
    write(folder / "shop.py", _ASGI.format(wait=WAIT_MS / 1000))
    virtualenv(folder / "venv", "uvicorn")
    _open(folder)
    return OwnSite(
        folder=folder,
        source=("--", "venv/bin/uvicorn", "shop:app", "--port", "8002", "--no-access-log"),
        options=("--get", "/"),
        mistakes={"uvicorn:workers": (1, 2)},
    )


def own_node(folder: Path) -> OwnSite:
    """A program of node with its port in its code, and an option for how many processes it has."""
    write(folder / "server.js", _NODE.format(wait=WAIT_MS))
    _open(folder)
    return OwnSite(
        folder=folder,
        source=("--", "node", "server.js", "--workers=1"),
        options=("--get", "/"),
        mistakes={"node:workers": (1, 2)},
    )


def _apache(folder: Path, *, mpm: str, modules: tuple[str, ...]) -> Path:
    """Copy Debian's configuration, with another MPM and further modules; return its folder."""
    etc = folder / "apache2"
    # Links stay links: Debian enables a file by a link to where it is available.
    shutil.copytree(STOCK, etc, symlinks=True)
    for enabled in ("mods-enabled", "sites-enabled"):
        for link in (etc / enabled).iterdir():
            if link.name.startswith(("mpm_", "perl", "000-")):
                link.unlink()
    moved(etc / "apache2.conf", {"<Directory /var/www/>": f"<Directory {folder}/>"})
    moved(etc / "ports.conf", {"Listen 80\n": "Listen 8080\n"})
    for module in (f"mpm_{mpm}", *modules):
        assert (MODULES / f"mod_{module}.so").exists(), module
        for end in ("load", "conf"):
            if (etc / f"mods-available/{module}.{end}").exists():
                enable(etc, "mods", f"{module}.{end}")
    write(folder / "www/index.html", "shop\n")
    return etc


def virtualenv(folder: Path, program: str) -> Path:
    """Make a virtualenv that finds the packages of the test's; return its program."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = folder / f"lib/python3.{sys.version_info.minor}/site-packages"
    write(packages / "of_the_test.pth", sysconfig.get_path("purelib") + "\n")
    script = _SCRIPT[program].format(python=folder / "bin/python")
    write(folder / "bin" / program, script)
    (folder / "bin" / program).chmod(0o755)
    return folder / "bin" / program


def _open(folder: Path) -> None:
    """Let everybody look into it, as into what is served."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink() and path.is_dir():
            path.chmod(0o755)


_PREFORK = """<IfModule mpm_prefork_module>
\tStartServers            4
\tMinSpareServers         4
\tMaxSpareServers         20
\tMaxRequestWorkers       20
\tMaxConnectionsPerChild  20
</IfModule>
"""
_PERL_SITE = """PerlPostConfigRequire {folder}/startup.pl
PerlChildInitHandler Shop::child
KeepAlive Off
<VirtualHost *:8080>
\tServerName shop.example
\tDocumentRoot {folder}/www
\t<Directory {folder}/www>
\t\tAllowOverride All
\t</Directory>
\t<Location /app>
\t\tSetHandler modperl
\t\tPerlResponseHandler Shop
\t</Location>
\tCustomLog ${{APACHE_LOG_DIR}}/shop.log combined
</VirtualHost>
"""
_PERL = """package Shop;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => 'OK';
# What an application does when it connects to its database and warms its tables.
sub child {{ my %rows; $rows{{$_}} = "row $_" for 1 .. 20_000; return Apache2::Const::OK; }}
sub handler {{
    my $r = shift;
    $r->content_type('text/plain');
    select undef, undef, undef, {wait};
    $r->print("shop\\n");
    return Apache2::Const::OK;
}}
1;
"""
_PROXY_SITE = """<VirtualHost *:8080>
\tServerName shop.example
\tDocumentRoot {folder}/www
\tProxyPass / http://127.0.0.1:8001/
\tCustomLog ${{APACHE_LOG_DIR}}/shop.log combined
</VirtualHost>
"""
_IMPORT = """# What a framework costs when it is imported.
ROWS = {number: str(number) for number in range(60_000)}
"""
_WSGI = """import time


def app(environ, start_response):
    time.sleep({wait})
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
    return [b"shop\\n"]
"""
_GUNICORN = """bind = "127.0.0.1:8001"
workers = 1
max_requests = 60
accesslog = "/var/log/shop/access.log"
"""
_ASGI = """import time


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    time.sleep({wait})
    headers = [(b"content-length", b"5")]
    await send({{"type": "http.response.start", "status": 200, "headers": headers}})
    await send({{"type": "http.response.body", "body": b"shop\\n"}})
"""
_NODE = """const cluster = require("cluster");
const http = require("http");
const workers = Number(process.argv.find((w) => w.startsWith("--workers=")).slice(10));
if (cluster.isPrimary) {{
  for (let k = 0; k < workers; k += 1) cluster.fork();
}} else {{
  const cell = new Int32Array(new SharedArrayBuffer(4));
  http.createServer((request, answer) => {{
    Atomics.wait(cell, 0, 0, {wait});
    answer.end("shop\\n");
  }}).listen(3000);
}}
"""
_SCRIPT = {
    "gunicorn": """#!{python}
import sys
from gunicorn.app.wsgiapp import run
if __name__ == "__main__":
    sys.exit(run())
""",
    "uvicorn": """#!{python}
import sys
from uvicorn.main import main
if __name__ == "__main__":
    sys.exit(main())
""",
}
