"""Six sites of a new user, as they run on a machine: started as their owner starts them.

Nobody wrote them for httpdyno. Their ports are taken free ones, their servers go into the
background or stay, and none starts another one. Each has mistakes, the largest one first: too few
processes that wait for what stands for a database, and others that cost CPU time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benches.own_sites.ground import MODULES, PHP_FPM, USER, free_ports
from tests.real.sites.own import virtualenv

from httpdyno.model import Level

WAIT_MS = 4
"""What a page waits for its database."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One that runs before anything is adopted."""

    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EveningSite:
    """A site that runs, and what is wrong with it."""

    folder: Path
    """All of its files, and where its owner stands."""
    port: int
    """Where it is asked, and all that `adopt` is told of it."""
    servers: tuple[Server, ...]
    """What its owner starts, backends first."""
    mistakes: Mapping[str, tuple[Level, Level]]
    """Knob as the study names it → what is planted, a level that is proposed; the largest first."""
    gets: tuple[str, ...] = ("/",)
    allow: tuple[str, ...] = ()


def nginx_php_fpm(folder: Path) -> EveningSite:
    """Debian's way: nginx before one process of php-fpm, both in the background."""
    port, listen = free_ports(1)[0], f"{folder}/run/php.sock"
    _write(folder, "www/index.php", _PHP.replace("@WAIT@", str(1000 * WAIT_MS)))
    for number in range(40):
        _write(folder, f"www/lib/thing{number:02}.php", _CLASS.replace("@N@", str(number)))
    _write(folder, "fpm.conf", _FPM.format(at=folder, listen=listen, user=USER))
    place = f"""location / {{ try_files $uri /index.php; }}
    location ~ \\.php$ {{ include /etc/nginx/fastcgi.conf; fastcgi_pass unix:{listen}; }}"""
    return EveningSite(
        folder=folder,
        port=port,
        servers=(
            Server(command=(PHP_FPM, "--daemonize", "--fpm-config", f"{folder}/fpm.conf")),
            _nginx(folder, port, upstream="", place=place),
        ),
        mistakes={
            "php:pm.max_children": (1, 8),
            "php:opcache.enable": (False, True),
            "nginx:gzip_comp_level": (9, 1),
        },
        gets=("/index.php",),
    )


def nginx_gunicorn(folder: Path) -> EveningSite:
    """An nginx that opens a connection for each request to a gunicorn with one thread."""
    port, behind = free_ports(2)
    _write(folder, "shop.py", _IMPORT + _WSGI.replace("@WAIT@", str(WAIT_MS / 1000)))
    place = "location / { proxy_pass http://shop; proxy_http_version 1.1; }"
    gunicorn = virtualenv(folder / "venv", "gunicorn")
    words = ("--worker-class=gthread", "--workers=1", "--threads=1", "--max-requests=150")
    return EveningSite(
        folder=folder,
        port=port,
        servers=(
            Server(command=(str(gunicorn), *words, f"--bind=127.0.0.1:{behind}", "shop:app")),
            _nginx(
                folder,
                port,
                upstream=f"upstream shop {{ server 127.0.0.1:{behind}; }}",
                place=place,
            ),
        ),
        mistakes={
            "gunicorn:workers": (1, 2),
            "gunicorn:max_requests": (150, 10_000),
            "nginx:gzip_comp_level": (9, 1),
            "nginx:upstream_keepalive": (0, 16),
        },
    )


def apache(folder: Path) -> EveningSite:
    """An Apache with mod_perl, four processes, and its pid file among its own files."""
    port = free_ports(1)[0]
    _write(folder, "startup.pl", _PERL.replace("@WAIT@", str(WAIT_MS / 1000)))
    names = ("mpm_prefork", "authz_core", "mime", "dir", "alias", "env", "filter", "deflate")
    loads = "".join(
        f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in (*names, "perl")
    )
    _write(folder, "httpd.conf", _APACHE.format(at=folder, port=port, user=USER, loads=loads))
    return EveningSite(
        folder=folder,
        port=port,
        servers=(Server(command=("apache2", "-f", f"{folder}/httpd.conf", "-k", "start")),),
        mistakes={
            "apache:MaxRequestWorkers": (4, 32),
            "apache:MaxConnectionsPerChild": (150, 10_000),
            "apache:KeepAlive": (False, True),
            "apache:DeflateCompressionLevel": (9, 1),
        },
        gets=("/app",),
    )


def gunicorn_daemon(folder: Path) -> EveningSite:
    """A gunicorn that goes into the background, and is told so in its own file."""
    port = free_ports(1)[0]
    _write(folder, "shop.py", _IMPORT + _WSGI.replace("@WAIT@", str(WAIT_MS / 1000)))
    _write(folder, "gunicorn.conf.py", _GUNICORN.format(port=port, at=folder))
    gunicorn = virtualenv(folder / "venv", "gunicorn")
    return EveningSite(
        folder=folder,
        port=port,
        servers=(Server(command=(str(gunicorn), "--daemon", "shop:app")),),
        mistakes={"gunicorn:workers": (1, 2), "gunicorn:max_requests": (150, 10_000)},
    )


def node(folder: Path) -> EveningSite:
    """A cluster of node whose size is a variable, and which compiles its page for each request."""
    port = free_ports(1)[0]
    _write(folder, "server.js", _NODE.replace("@WAIT@", str(WAIT_MS)).replace("@PORT@", str(port)))
    variables = {"WEB_CONCURRENCY": "1"}
    return EveningSite(
        folder=folder,
        port=port,
        servers=(Server(command=("node", "server.js"), variables=variables),),
        mistakes={"node:WEB_CONCURRENCY": (1, 2), "node:NODE_ENV": ("", "production")},
    )


def uvicorn(folder: Path) -> EveningSite:
    """A uvicorn with one process and Python's own loop, whose application blocks."""
    port = free_ports(1)[0]
    _write(folder, "shop.py", _ASGI.replace("@WAIT@", str(WAIT_MS / 1000)))
    program = virtualenv(folder / "venv", "uvicorn")
    words = ("--loop=asyncio", "--http=h11", f"--port={port}")
    return EveningSite(
        folder=folder,
        port=port,
        servers=(Server(command=(str(program), "shop:app", *words)),),
        mistakes={
            "uvicorn:workers": (1, 2),
            "uvicorn:http": ("h11", "httptools"),
            "uvicorn:loop": ("asyncio", "uvloop"),
            "uvicorn:access_log": (True, False),
        },
        allow=("loss",),
    )


EVENING: dict[str, Callable[[Path], EveningSite]] = {
    "nginx-php-fpm": nginx_php_fpm,
    "nginx-gunicorn": nginx_gunicorn,
    "apache": apache,
    "gunicorn-daemon": gunicorn_daemon,
    "node": node,
    "uvicorn": uvicorn,
}


def _nginx(folder: Path, port: int, *, upstream: str, place: str) -> Server:
    text = _NGINX.format(at=folder, port=port, user=USER, upstream=upstream, place=place)
    main = _write(folder, "nginx.conf", text)
    return Server(command=("nginx", "-c", str(main)))


def _write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    for each in ("log", "run", "www"):
        (folder / each).mkdir(exist_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


_NGINX = """user {user};
worker_processes 1;
pid {at}/run/nginx.pid;
error_log {at}/log/nginx-error.log;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    default_type text/html;
    access_log {at}/log/access.log;
    gzip on;
    gzip_comp_level 9;
    gzip_types text/plain application/json;
    {upstream}
    server {{
        listen 127.0.0.1:{port};
        root {at}/www;
        {place}
    }}
}}
"""
_FPM = """[global]
pid = {at}/run/php-fpm.pid
error_log = {at}/log/php-fpm.log
[www]
user = {user}
group = {user}
listen = {listen}
listen.owner = {user}
listen.group = {user}
pm = static
pm.max_children = 1
php_admin_flag[opcache.enable] = off
"""
_PHP = """<?php
// What a framework does on each request: it loads its classes and asks its database.
foreach (glob(__DIR__ . '/lib/*.php') as $file) { require_once $file; }
usleep(@WAIT@);
header('Content-Type: text/html');
for ($n = 0; $n < 600; $n++) { printf("<p>thing %d costs %d crowns</p>\\n", $n, $n * 7919 % 1000); }
"""
_CLASS = """<?php
final class Thing@N@
{
    private array $parts = [];
    public function part(int $n): string
    {
        $text = sprintf('%d of %s', $n, __METHOD__);
        $this->parts[] = $text;
        foreach ($this->parts as $k => $part) { $text .= $k . ':' . strlen($part); }
        return $n > 3 ? strtoupper($text) : $text;
    }
}
"""
_APACHE = """ServerRoot {at}
ServerName localhost
PidFile {at}/run/mine.pid
ErrorLog {at}/log/apache-error.log
Listen 127.0.0.1:{port}
{loads}TypesConfig /etc/mime.types
User {user}
Group {user}
StartServers 16
MinSpareServers 4
MaxSpareServers 32
MaxRequestWorkers 4
MaxConnectionsPerChild 150
KeepAlive Off
DocumentRoot {at}/www
AddOutputFilterByType DEFLATE text/html text/plain
DeflateCompressionLevel 9
PerlPostConfigRequire {at}/startup.pl
PerlChildInitHandler Shop::child
<Directory {at}>
    Require all granted
</Directory>
<Location /app>
    SetHandler modperl
    PerlResponseHandler Shop
</Location>
"""
_PERL = """package Shop;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => 'OK';
# What an application does when it connects to its database and warms its tables.
sub child { my %rows; $rows{$_} = "row $_" for 1 .. 20_000; return Apache2::Const::OK; }
sub handler {
    my $r = shift;
    $r->content_type('text/html');
    select undef, undef, undef, @WAIT@;
    $r->print(map { "<p>thing $_ costs " . $_ * 7919 % 1000 . " crowns</p>\\n" } 1 .. 600);
    return Apache2::Const::OK;
}
1;
"""
_IMPORT = """# What a framework costs when it is imported.
ROWS = {number: str(number) for number in range(60_000)}
PAGE = "".join(f"<p>thing {n} costs {n * 7919 % 1000} crowns</p>" for n in range(600)).encode()
"""
_WSGI = """import time


def app(environ, start_response):
    time.sleep(@WAIT@)
    headers = [("Content-Type", "text/html"), ("Content-Length", str(len(PAGE)))]
    start_response("200 OK", headers)
    return [PAGE]
"""
_GUNICORN = """bind = "127.0.0.1:{port}"
workers = 1
max_requests = 150
pidfile = "{at}/run/shop.pid"
errorlog = "{at}/log/error.log"
"""
_NODE = """const cluster = require("cluster");
const http = require("http");
const size = Number(process.env.WEB_CONCURRENCY) || 1;
// As templates of Express do: what is compiled is kept in production alone.
const compile = () => {
  const lines = Array.from({ length: 400 }, (_, n) => `text += "<p>" + (${n} * shop) + "</p>";`);
  return new Function("shop", `let text = ""; ${lines.join("\\n")} return text;`);
};
const kept = process.env.NODE_ENV === "production" ? compile() : null;
if (cluster.isPrimary) {
  for (let k = 0; k < size; k += 1) cluster.fork();
} else {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  http.createServer((request, answer) => {
    Atomics.wait(cell, 0, 0, @WAIT@);
    answer.end((kept || compile())(7));
  }).listen(@PORT@, "127.0.0.1");
}
"""
_ASGI = """import time


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    time.sleep(@WAIT@)
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"shop\\n"})
"""
