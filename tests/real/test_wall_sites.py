"""Sites of several members behind a wall: what one listens at, the other one comes to."""

import os
import shutil
import sys
import time
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec import structs
from tests.real.sites.apache import debian_tree, free_ports, moved, write
from tests.real.test_apache_site import needs, seat_in
from tests.servers.sandbox.test_ordinary_user import interpreter

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Effective, Member, ServerSpec, Site, Survey
from httpdyno.registry import site_adapters
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import Apache
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.copies import SITE as SITE_ADAPTER
from httpdyno.servers.stack.copies import CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

pytestmark = [pytest.mark.real_server, needs("wall")]

READY_S = 20.0
NGINX = """events {{}}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
http {{
    access_log {folder}/access.log;
    server {{
        listen 80 default_server;
        location / {{ {passing}; }}
    }}
    server {{
        listen 127.0.0.1:80;
        return 200 "of the loopback";
    }}
}}
"""
POOL = """[global]
error_log = {folder}/fpm.log
[www]
{user}listen = {socket}
listen.mode = 0666
pm = static
pm.max_children = 1
"""
WSGI = """
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"from gunicorn"]
"""
ASGI = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"from uvicorn"})
"""
LISTENS = """
import http.server, socket, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "11")
        self.end_headers()
        self.wfile.write(b"from python")
class Unix(http.server.HTTPServer):
    address_family = socket.AF_UNIX
    def server_bind(self):
        self.socket.bind(self.server_address)
    def get_request(self):
        return self.socket.accept()[0], ("", 0)
host, port = sys.argv[sys.argv.index("--bind") + 1].split(":")
if host == "unix":
    Unix(port, Answer).serve_forever()
http.server.HTTPServer((host, int(port)), Answer).serve_forever()
"""


@pytest.fixture
def folder(own_folders):
    found = own_folders / "site"
    found.mkdir()
    found.chmod(0o755)
    return found


@contextmanager
def copy_of(*members, kind="wall"):
    """Start a copy behind a wall; give it with what it says when it is asked to be ready."""
    adapters = {each.name: each for each in site_adapters()}
    found = {}
    for member in members:
        texts = adapters[member.kind].read(member)
        survey = adapters[member.kind].survey(member, texts, None)
        assert isinstance(survey, Survey), survey
        found[member.name] = Found(member=member, files=texts, survey=survey)
    site = Site(members=members, isolation=kind)
    server = CopyStack(site, Snapshot(members=found), adapters, seat_maker(kind))
    spec = ServerSpec(adapter=SITE_ADAPTER)
    with new_run_root() as root:
        copy = server.spawn(spec, Path("/"), Configuration(), root.new_place("copy"))
        assert not isinstance(copy, NotRunning), copy
        try:
            yield copy, copy.await_ready(READY_S)
        finally:
            copy.stop()


def body(copy, path="/"):
    found = ask(
        *(copy.addresses[0], path, Patience(5)),
        body_patience=Patience(5),
        most_bytes=1 << 16,
        network=copy.networks[0],
    )
    return found.status, found.body.decode()


def nginx(folder, passing):
    write(folder / "nginx.conf", NGINX.format(folder=folder, passing=passing))
    return Member(name="nginx", kind="nginx", main=str(folder / "nginx.conf"))


def gunicorn(folder, *binds):
    write(folder / "shop.py", WSGI)
    words = [word for bind in binds for word in ("-b", bind)]
    command = (sys.executable, "-m", "gunicorn", "shop:app", *words)
    return Member(name="shop", kind="gunicorn", command=command, folder=str(folder))


def apache(folder, passing, *modules):
    tree = debian_tree(folder / "apache")
    etc = tree.main.parent
    for module in ("proxy_http", *modules):
        (etc / f"mods-enabled/{module}.load").symlink_to(f"../mods-available/{module}.load")
    text = passing.replace("@", str(folder))
    shop = etc / "sites-available/000-shop.conf"
    moved(shop, {"</VirtualHost>": f"{text}\n</VirtualHost>"})
    return tree.member


def command(folder, *words):
    write(folder / "listens.py", LISTENS)
    return Member(
        name="api",
        kind="command",
        command=(sys.executable, "listens.py", *words),
        folder=str(folder),
    )


@pytest.mark.real_server("nginx", "php-fpm8.2")
def test_a_socket_whose_path_would_be_too_long_is_met_by_both(folder):
    socket = folder / ("of-" + "the-shop-" * 5) / "php.sock"
    socket.parent.mkdir()
    user = "user = www-data\n"
    write(folder / "fpm.conf", POOL.format(folder=folder, socket=socket, user=user))
    write(folder / "page.php", "<?php echo 6 * 7;")
    passing = f"fastcgi_param SCRIPT_FILENAME {folder}/page.php; fastcgi_param REQUEST_METHOD GET; "
    front = nginx(folder, f"{passing}fastcgi_pass unix:{socket}")
    program = "/usr/sbin/php-fpm8.2"
    php = Member(name="php", kind="php-fpm", main=str(folder / "fpm.conf"), program=program)
    with copy_of(front, php) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "42")
    assert list(socket.parent.iterdir()) == []


@pytest.mark.real_server("nginx")
@pytest.mark.parametrize("named", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("listened", ["0.0.0.0", "127.0.0.1", "localhost", "[::]"])
def test_what_listens_everywhere_is_met_at_the_loopback(folder, named, listened):
    front = nginx(folder, f"proxy_pass http://{named}:8000")
    with copy_of(front, gunicorn(folder, f"{listened}:8000")) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "from gunicorn")


@pytest.mark.real_server("nginx")
@pytest.mark.parametrize(
    ("words", "to"),
    [
        (("--host", "localhost"), "http://127.0.0.1:8000"),
        (("--host", "0.0.0.0", "--port", "8000"), "http://localhost:8000"),
        (("--uds", "@/shop.sock"), "http://unix:@/shop.sock"),
    ],
)
def test_uvicorn_is_met_where_it_listens(folder, words, to):
    pytest.importorskip("uvicorn")
    write(folder / "shop.py", ASGI)
    here = [word.replace("@", str(folder)) for word in words]
    shop = Member(
        name="shop",
        kind="uvicorn",
        command=(sys.executable, "-m", "uvicorn", "shop:app", *here),
        folder=str(folder),
    )
    front = nginx(folder, f"proxy_pass {to.replace('@', str(folder))}")
    with copy_of(front, shop) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "from uvicorn")


@pytest.mark.real_server("nginx")
def test_each_of_several_binds_is_met(folder):
    front = nginx(folder, f"proxy_pass http://unix:{folder}/second.sock")
    shop = gunicorn(folder, "127.0.0.1:8000", f"unix:{folder}/second.sock")
    with copy_of(front, shop) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "from gunicorn")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("kind", [pytest.param("cell", marks=needs("cell")), "wall"])
def test_gunicorn_runs_as_the_user_of_its_service(folder, kind):
    if not interpreter():
        pytest.skip("there is no Python of this version that an ordinary user may run")
    for package in ("gunicorn", "packaging"):
        shutil.copytree(str(files(package)), folder / package)
    member = gunicorn(folder, "127.0.0.1:8000")
    command = (interpreter(), *member.command[1:])
    member = structs.replace(member, command=command, user="nobody")
    with copy_of(member, kind=kind) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "from gunicorn")


@pytest.mark.real_server("apache2", "openssl")
@pytest.mark.parametrize(
    "passing",
    [
        "ProxyPass / http://127.0.0.1:8000/",
        "ProxyPass / http://localhost:8000/ retry=0",
        'ProxyPassMatch "^/(.*)$" "http://127.0.0.1:8000/$1"',
        "RewriteEngine On\nRewriteRule ^/(.*)$ http://127.0.0.1:8000/$1 [P,L]",
        "Define backend 127.0.0.1\nProxyPass / http://${backend}:8000/",
        'ProxyPass / "unix:@/second.sock|http://localhost/"',
    ],
)
def test_what_apache_passes_on_is_met(folder, passing):
    member = apache(folder, passing)
    backend = gunicorn(folder, "0.0.0.0:8000", f"unix:{folder}/second.sock")
    with copy_of(member, backend) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy, "/any") == (200, "from gunicorn")


@pytest.mark.real_server("apache2", "openssl")
def test_a_balancer_is_met_where_nothing_is_refused_and_said_behind_a_wall(folder):
    modules = ("proxy_balancer", "lbmethod_byrequests", "slotmem_shm")
    balancer = "<Proxy balancer://app>\nBalancerMember http://localhost:8000\n</Proxy>"
    member = apache(folder, f"{balancer}\nProxyPass / balancer://app/", *modules)
    backend = gunicorn(folder, "0.0.0.0:8000")
    with copy_of(member, backend, kind="open") as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy, "/any") == (200, "from gunicorn")
    with (
        pytest.raises(AdapterError, match=r"what its balancers .* share in /dev/shm"),
        copy_of(member, backend),
    ):
        pass


def in_macros(member, seat):
    """Return what macros set, and on which of their lines."""
    survey = Apache().survey(member, Apache().read(member), seat)
    assert isinstance(survey, Survey), survey
    places = [(each, each.origin) for each in survey.readings if each.origin is not None]
    return {(r.name, r.text, o.line) for r, o in places if o.file.startswith("macro '")}


MACRO = """LoadModule macro_module /usr/lib/apache2/modules/mod_macro.so
<Macro shop $name $log>
  # Whose host it is, \\
    by name.

  <VirtualHost *:80>
    ServerName $name.example
    DocumentRoot {folder}/srv
    ErrorLog ${{APACHE_LOG_DIR}}/$name-error.log
    CustomLog $log combined
    CustomLog "|/usr/bin/rotatelogs {folder}/$name.log 86400" combined
    ProxyPass /app http://localhost:8000/
  </VirtualHost>
</Macro>
Listen 80
Use shop one {folder}/logs/one.log
Use shop two {folder}/logs/two.log
<Directory {folder}/srv>
  Require all granted
</Directory>
"""


@pytest.mark.real_server("apache2", "openssl", "rotatelogs")
def test_logs_that_a_macro_names_are_written_in_the_place(folder):
    member = apache(folder, "")
    etc = Path(member.main).parent
    write(folder / "srv/index.html", "of the macro\n")
    (folder / "logs").mkdir()
    write(etc / "sites-available/macro.conf", MACRO.format(folder=folder))
    for link in (etc / "sites-enabled").iterdir():
        link.unlink()
    (etc / "sites-enabled/macro.conf").symlink_to("../sites-available/macro.conf")
    write(etc / "ports.conf", "")
    texts, dumped = (in_macros(member, seat) for seat in (None, seat_in(folder)))
    assert texts == dumped
    before = sorted(folder.rglob("*.log"))
    with copy_of(member, gunicorn(folder, "0.0.0.0:8000")) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "of the macro\n")
        assert body(copy, "/app") == (200, "from gunicorn")
        written = {Path(path).name for path in copy.seat.written()}
        assert {"one-error.log", "two-error.log", "one.log", "two.log"} <= written
        assert "macro-shop-customlog.log" in written
        log = Path(copy.seat.path(f"{folder}/logs/one.log"))
        deadline_s = time.monotonic() + READY_S
        while "GET /app" not in log.read_text():
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.01)
    assert sorted(folder.rglob("*.log")) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--bind", "127.0.0.1:{port}"),
        ("--bind", "{address}"),
        ("--bind", "10.0.0.5:{port}"),
        ("--bind", "0.0.0.0:{port}"),
        ("--bind", "127.0.0.1:8000"),
        ("--bind", "unix:/run/api.sock"),
    ],
)
def test_a_program_listens_where_its_command_line_says(folder, words):
    with copy_of(command(folder, *words)) as (copy, ready):
        assert isinstance(ready, Effective), getattr(ready, "detail", "")
        assert body(copy) == (200, "from python")


def test_a_port_that_stands_in_the_code_is_said_to_need_a_cell(folder):
    (port,) = free_ports(1)
    code = LISTENS.replace('sys.argv[sys.argv.index("--bind") + 1]', f'"127.0.0.1:{port}"')
    member = command(folder, "--port", "8000")
    write(folder / "listens.py", code)
    with copy_of(member) as (_, answer):
        assert isinstance(answer, NotRunning)
        assert answer.status == "refused"
    assert "Permission denied" in text(answer.detail)
    assert "EACCES" in text(answer.detail)
    assert "`--isolation cell`" in text(answer.detail)
