"""Servers that people run, in a folder of their own: Apache, nginx, php-fpm, gunicorn."""

import os
import shutil
import sys
from collections.abc import Sequence

from benches.bottlenecks.place import PROGRAMS, NotBuiltError, Place

_MODULES = "/usr/lib/apache2/modules"
_APACHE = """ServerRoot {at}
ServerName shop.example
Listen 127.0.0.1:{port}
PidFile {at}/apache.pid
DefaultRuntimeDir {at}
ErrorLog {at}/error.log
{modules}
{user}DocumentRoot {at}/www
<Directory {at}/www>
    Require all granted
</Directory>
{settings}
"""
_NGINX = """{user}worker_processes 2;
pid {at}/nginx.pid;
error_log {at}/nginx-error.log;
events {{ worker_connections 768; }}
http {{
    access_log off;
    client_body_temp_path {at}/body;
    proxy_temp_path {at}/proxy;
    fastcgi_temp_path {at}/fastcgi;
    uwsgi_temp_path {at}/uwsgi;
    scgi_temp_path {at}/scgi;
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port};
        root {at}/www;
        location ~ \\.php$ {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass unix:{at}/php.sock;
        }}
    }}
}}
"""
_FPM = """[global]
pid = {at}/php.pid
error_log = {at}/php-error.log
[www]
{user}listen = {at}/php.sock
listen.mode = 0666
pm = static
pm.max_children = {children}
"""
_INDEX = """<?php
$found = [];
for ($n = 0; $n < 500; $n++) { $found[] = md5((string) $n); }
sort($found);
echo implode(' ', array_slice($found, 0, 20)), "\\n";
"""


def apache(place: Place, port: int, *, mpm: str, settings: str, more: Sequence[str] = ()) -> int:
    """Start Apache over a folder of files; its process id.

    Args:
        mpm: How it works, `prefork` or `event`.
        settings: Further lines of its configuration.
        more: Further modules.
    """
    program = needed("apache2")
    names = (f"mpm_{mpm}", "authz_core", *more)
    modules = "\n".join(f"LoadModule {name}_module {_MODULES}/mod_{name}.so" for name in names)
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    text = _APACHE.format(at=place.folder, port=port, modules=modules, user=user, settings=settings)
    main = place.folder / "apache.conf"
    main.write_text(text)
    pages(place)
    return place.started([program, "-f", str(main), "-DFOREGROUND"], port=port)


def nginx(place: Place, port: int, *, prefix: Sequence[str] = ()) -> int:
    """Start nginx over a folder of files, and of a php-fpm beside it; its process id."""
    main = place.folder / "nginx.conf"
    user = "user www-data;\n" if os.geteuid() == 0 else ""
    main.write_text(_NGINX.format(at=place.folder, port=port, user=user))
    pages(place)
    command = [*prefix, needed("nginx"), "-c", str(main), "-g", "daemon off;"]
    return place.started(command, port=port)


def php_fpm(place: Place, *, children: int) -> int:
    """Start php-fpm behind nginx; its process id."""
    main = place.folder / "php-fpm.conf"
    user = "user = www-data\ngroup = www-data\n" if os.geteuid() == 0 else ""
    main.write_text(_FPM.format(at=place.folder, user=user, children=children))
    program = needed("php-fpm8.2")
    return place.started([program, "--nodaemonize", "--fpm-config", str(main)], port=None)


def gunicorn(place: Place, port: int, *, work: str, options: str) -> int:
    """Start gunicorn with the application of the bench; its process id."""
    command = [
        *(sys.executable, "-m", "gunicorn", "--chdir", str(PROGRAMS), *options.split()),
        *("--bind", f"127.0.0.1:{port}", "--worker-tmp-dir", "/dev/shm", "--no-control-socket"),
        "application:application",
    ]
    return place.started(command, port=port, environment={"WORK": work})


def pages(place: Place) -> None:
    """Write what is served."""
    folder = place.folder / "www"
    folder.mkdir(exist_ok=True)
    (folder / "style.css").write_text("body { margin: 0 }\n" * 100)
    (folder / "film").write_bytes(os.urandom(1024) * 512)
    (folder / "index.php").write_text(_INDEX)
    shutil.copy(PROGRAMS / "page.pl", folder / "page.pl")


def needed(program: str) -> str:
    """Return where a program is.

    Raises:
        NotBuiltError: It is not installed.
    """
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin")
    if not found:
        raise NotBuiltError(f"{program} is not installed")
    return found
