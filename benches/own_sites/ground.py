"""Where an application of the bench lies, and the servers before it, as a person writes them.

Its programs and configuration are below one folder, what it keeps is below another one that lies
elsewhere on the machine, and workers run as `www-data`. Nothing is written for a copy's sake.
"""

import os
import re
import shutil
import socket
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.errors import UsageError

USER = "www-data"
PHP_FPM = "php-fpm8.2"
ASKING = Path(__file__).parent / "asking"
EXTENSIONS = Path("usr/lib/php/20220829")
MODULES = Path("/usr/lib/apache2/modules")
_ABSOLUTE = re.compile(
    rb"(?<![\w./\\-])/(?=(?:usr/share|usr/lib|var/lib|var/cache|var/log|etc)"
    rb"/(?:dokuwiki|mediawiki|roundcube|phpmyadmin|php|php-geshi)\b)"
)
_REWRITTEN = (".php", ".inc", ".conf", ".cgi", ".htaccess", "htaccess")


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Folders and ports of one application."""

    root: Path
    """Its programs and its configuration, all of it root's."""
    data: Path
    """What it keeps, the workers' own."""
    packages: Path
    """Where Debian's packages are unpacked."""
    ports: tuple[int, ...] = field(default_factory=lambda: free_ports(2))

    @property
    def port(self) -> int:
        """Where clients ask."""
        return self.ports[0]

    def placed(self, *trees: str) -> None:
        """Copy trees of the packages below `root`; what names another tree names the copy of it."""
        for tree in trees:
            theirs = self.packages / tree
            if not theirs.is_dir():
                raise UsageError(
                    f"{theirs} is not there",
                    hint="`make bench-applications` unpacks packaging/applications.txt",
                )
            shutil.copytree(theirs, self.root / tree, symlinks=True, dirs_exist_ok=True)
        for path in [each for tree in trees for each in (self.root / tree).rglob("*")]:
            if path.is_symlink():
                target = str(path.readlink())
                if target.startswith("/"):
                    path.unlink()
                    path.symlink_to(f"{self.root}{target}")
            elif path.is_file() and path.name.endswith(_REWRITTEN):
                text = path.read_bytes()
                moved = _ABSOLUTE.sub(f"{self.root}/".encode(), text)
                if moved != text:
                    path.write_bytes(moved)

    def write(self, name: str, text: str) -> Path:
        """Write a file below `root`."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def extensions(self, *names: str) -> tuple[str, ...]:
        """Return the unpacked extensions of PHP by their paths."""
        return tuple(str(self.packages / EXTENSIONS / f"{name}.so") for name in names)

    def asking(self, name: str, to: str) -> Path:
        """Copy a script that asks as an application does."""
        file = self.root / to
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ASKING / name, file)
        return file


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server as its owner starts it, and as `adopt` is told of it."""

    command: tuple[str, ...]
    source: tuple[str, ...]


def free_ports(n: int) -> tuple[int, ...]:
    """Return ports of loopback at which nobody listens."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = tuple(each.getsockname()[1] for each in held)
    for each in held:
        with closing(each):
            pass
    return ports


def own(*paths: Path, mode: int = 0o755) -> None:
    """Give folders and what is in them to the workers."""
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)
        for each in (path, *path.rglob("*")):
            if not each.is_symlink():
                shutil.chown(each, USER, USER)
        path.chmod(mode)


def open_to_all(root: Path) -> None:
    """Let everybody look into it, as into what is served."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(Path(folder).stat().st_mode | 0o055)


def nginx(
    ground: Ground,
    pages: Path,
    *,
    upstream: str,
    file: str = "etc/nginx.conf",
    parameters: Mapping[str, str] | None = None,
) -> Server:
    """Write an nginx before a php-fpm."""
    (ground.root / "log").mkdir(exist_ok=True)
    given = "".join(f"            fastcgi_param {k} {v};\n" for k, v in (parameters or {}).items())
    text = _NGINX.format(
        at=ground.root, port=ground.port, pages=pages, upstream=upstream, given=given
    )
    main = str(ground.write(file, text))
    return Server(command=("nginx", "-c", main, "-g", "daemon off;"), source=(main,))


def php_fpm(  # noqa: PLR0913 - what there is to a pool
    ground: Ground,
    *,
    listen: str,
    settings: Mapping[str, str] | None = None,
    extensions: Iterable[str] = (),
    include_path: str = "",
    file: str = "etc/php-fpm.conf",
) -> Server:
    """Write a php-fpm with one pool."""
    (ground.root / "log").mkdir(exist_ok=True)
    (ground.root / "run").mkdir(exist_ok=True)
    lines = [f"php_admin_value[extension] = {each}" for each in extensions]
    lines += [f"php_admin_value[{name}] = {value}" for name, value in (settings or {}).items()]
    # One that a program sets further itself.
    lines += [f"php_value[include_path] = {include_path}"] if include_path else []
    pool = _FPM.format(at=ground.root, listen=listen, user=USER)
    main = str(ground.write(file, "\n".join((pool, *lines, ""))))
    return Server(command=(PHP_FPM, "--nodaemonize", "--fpm-config", main), source=(main,))


def apache(  # noqa: PLR0913 - what there is to a site
    ground: Ground,
    site: str,
    *,
    mpm: str,
    modules: Iterable[str] = (),
    file: str = "etc/apache2.conf",
    pid_file: str = "",
) -> Server:
    """Write an Apache with one site; its pid file is in /run, or where it is said to be."""
    (ground.root / "log").mkdir(exist_ok=True)
    (ground.root / "run").mkdir(exist_ok=True)
    names = (f"mpm_{mpm}", "authz_core", "mime", "dir", "alias", "env", "setenvif", *modules)
    loads = "".join(
        f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in dict.fromkeys(names)
    )
    text = _APACHE.format(
        at=ground.root,
        port=ground.port,
        user=USER,
        loads=loads,
        pid_file=pid_file or f"/run/{ground.root.name}.pid",
    )
    text += site
    main = str(ground.write(file, text))
    return Server(command=("apache2", "-f", main, "-DFOREGROUND"), source=(main,))


_NGINX = """user www-data;
worker_processes 1;
pid {at}/nginx.pid;
error_log {at}/log/nginx-error.log;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    access_log {at}/log/access.log;
    server {{
        listen 127.0.0.1:{port};
        server_name app.example localhost;
        root {pages};
        index index.php index.html;
        location ~ \\.php(/|$) {{
            fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
            include /etc/nginx/fastcgi.conf;
            fastcgi_param PATH_INFO $fastcgi_path_info;
{given}            fastcgi_pass {upstream};
        }}
    }}
}}
"""
_FPM = """[global]
pid = {at}/php-fpm.pid
error_log = {at}/log/php-fpm.log
[www]
user = {user}
group = {user}
listen = {listen}
listen.owner = {user}
listen.group = {user}
pm = static
pm.max_children = 2
"""
_APACHE = """ServerRoot {at}
ServerName localhost
PidFile {pid_file}
ErrorLog {at}/log/apache-error.log
Listen 127.0.0.1:{port}
{loads}TypesConfig /etc/mime.types
User {user}
Group {user}
<Directory {at}>
    Require all granted
</Directory>
DirectoryIndex index.php index.html
"""
