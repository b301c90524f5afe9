"""Debian's nginx and php-fpm with a site that has planted mistakes, below a folder of the test's.

The stock files are copied, so that neither a server of this machine nor its files are touched; of
them only paths, the mistakes and the site differ. It is to be run in a cell: pid files, logs and
the socket are where Debian has them. Beside the mistakes there are knobs that cannot matter here.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from httpdyno.model import Level, Member

NGINX = Path("/etc/nginx")
FPM = Path("/etc/php/8.2/fpm")
PROGRAM = "/usr/sbin/php-fpm8.2"
PORT = 8080
SOCKET = "/run/php/shop.sock"
HOST = "shop.example"
PAGES = ("/index.php?page=1", "/index.php?page=2", "/style.css")
N_CLASSES = 40
WAIT_US = 4000
"""What a page waits for its database."""

MISTAKES: dict[str, tuple[Level, Level]] = {
    # One request at a time, while each waits for its database.
    "php:pm.max_children": (1, 8),
    # A new process for each request.
    "php:pm.max_requests": (1, 0),
    # Every page compiles all of its classes anew.
    "php:opcache.enable": (False, True),
}
"""Knob as a study of members `nginx` and `php` names it → what is planted, what is right."""
INERT: dict[str, tuple[Level, Level]] = {
    # Fewer clients than this come at any time.
    "nginx:worker_connections": (768, 4096),
    "nginx:listen_backlog": (511, 4096),
    # Nothing of the site is sent in blocks of this size, or has a body.
    "nginx:output_buffers": ("2x32k", "4x64k"),
    "nginx:client_body_buffer_size": (16384, 131_072),
    # The same few files are asked for all the time, and none of their paths is a link.
    "php:realpath_cache_size": ("4096K", "16M"),
}
"""Knob → what is found, and a level that changes nothing here."""

_CLASS = """<?php
final class Thing{number}
{{
    private array $parts = [];
{methods}
}}
"""
_METHOD = """    public function part{number}(int $n): string
    {{
        $text = sprintf('%d of %s', $n, __METHOD__);
        $this->parts[] = $text;
        if ($n > {number}) {{ return strtoupper($text); }}
        foreach ($this->parts as $k => $part) {{ $text .= $k . ':' . strlen($part); }}
        return $text;
    }}
"""
_INDEX = """<?php
// What a framework does on each request: it loads its classes and asks its database.
foreach (glob(__DIR__ . '/lib/*.php') as $file) {{ require_once $file; }}
$thing = new Thing0();
usleep({wait});
echo '<h1>shop</h1>', $thing->part0((int) ($_GET['page'] ?? 0)), "\\n";
"""
_SERVER = """server {{
\tlisten {port};
\tserver_name {host};
\troot {root};
\tindex index.php;

\tlocation / {{
\t\ttry_files $uri $uri/ =404;
\t}}

\tlocation ~ \\.php$ {{
\t\tinclude snippets/fastcgi-php.conf;
\t\tfastcgi_pass unix:{socket};
\t}}
}}
"""


@dataclass(frozen=True, kw_only=True)
class PlantedSite:
    """The site, and who serves it, front to back."""

    folder: Path
    front: Member
    php: Member

    @property
    def files(self) -> dict[str, bytes]:
        """All of its files, to see that none was touched."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found}


def planted_site(folder: Path) -> PlantedSite:
    """Write the site below a folder that everybody may look into."""
    front, php, root = folder / "nginx", folder / "fpm", folder / "www"
    shutil.copytree(NGINX, front, symlinks=True)
    for enabled in (front / "sites-enabled").iterdir():
        enabled.unlink()
    changed(front / "nginx.conf", {r"/etc/nginx/": f"{front}/"})
    server = _SERVER.format(port=PORT, host=HOST, root=root, socket=SOCKET)
    (front / "sites-enabled/shop").write_text(server)

    (php / "pool.d").mkdir(parents=True)
    shutil.copy(FPM / "php-fpm.conf", php)
    shutil.copy(FPM / "pool.d/www.conf", php / "pool.d")
    changed(php / "php-fpm.conf", {r"^include=.*$": f"include={php}/pool.d/*.conf"})
    changed(
        php / "pool.d/www.conf",
        {
            r"^listen = .*$": f"listen = {SOCKET}",
            r"^pm = .*$": "pm = static",
            r"^pm\.max_children = .*$": "pm.max_children = 1",
            r"^;pm\.max_requests = .*$": "pm.max_requests = 1",
            r"^;php_admin_value\[memory_limit\].*$": "php_admin_flag[opcache.enable] = off",
        },
    )
    _write_pages(root)
    return PlantedSite(
        folder=folder,
        front=Member(name="nginx", kind="nginx", main=str(front / "nginx.conf")),
        php=Member(name="php", kind="php-fpm", main=str(php / "php-fpm.conf"), program=PROGRAM),
    )


def changed(file: Path, replacements: dict[str, str]) -> None:
    """Replace patterns in a stock file; each has to be there."""
    text = file.read_text()
    for pattern, new in replacements.items():
        text, n_times = re.subn(pattern, new, text, flags=re.MULTILINE)
        assert n_times, f"{pattern} is not in {file}"
    file.write_text(text)


def _write_pages(root: Path) -> None:
    (root / "lib").mkdir(parents=True)
    methods = "".join(_METHOD.format(number=number) for number in range(20))
    for number in range(N_CLASSES):
        text = _CLASS.format(number=number, methods=methods)
        (root / f"lib/thing{number:02}.php").write_text(text)
    (root / "index.php").write_text(_INDEX.format(wait=WAIT_US))
    (root / "style.css").write_text("body { margin: 0 }\n" * 100)
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
