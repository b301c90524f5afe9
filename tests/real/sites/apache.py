"""Apache sites as people have them, below a folder of the test's own; and a seat to try them in.

The trees are those of distributions with their paths moved below the folder, so that neither a
server of this machine nor its files are touched. Nothing of them is rewritten by the adapter.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Member

MODULES = Path("/usr/lib/apache2/modules")
STOCK = Path("/etc/apache2")
PREFORK_CONF = """<IfModule mpm_prefork_module>
\tStartServers            2
\tMinSpareServers         2
\tMaxSpareServers         4
\tMaxRequestWorkers       20
\tMaxConnectionsPerChild  0
</IfModule>
"""


@dataclass(frozen=True, kw_only=True)
class FolderSeat:
    """A seat without walls, for sites whose paths and ports are the test's own already."""

    folder: Path
    kind: str = "cell"
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)

    @property
    def memory_folder(self) -> Path:
        return self.folder

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> ProgramOutput:
        done = subprocess.run(
            command,
            env=dict(environment),
            cwd=folder,
            timeout=timeout_s,
            capture_output=True,
            text=True,
            check=False,
        )
        return ProgramOutput(exit_code=done.returncode, output=done.stdout, errors=done.stderr)

    def port(self, address: str) -> str:
        return address

    def path(self, path: str) -> str:
        return path


@dataclass(frozen=True, kw_only=True)
class ApacheTree:
    """A site in a folder."""

    root: Path
    main: Path
    ports: tuple[int, ...]

    @property
    def member(self) -> Member:
        return Member(name="apache", kind="apache", main=str(self.main))


def free_ports(n_ports: int) -> tuple[int, ...]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n_ports)]
    ports = tuple(each.getsockname()[1] for each in held)
    for each in held:
        each.close()
    return ports


def debian_tree(root: Path, *, mpm: str = "event") -> ApacheTree:
    """Debian's stock Apache with three sites: static with `.htaccess`, PHP behind, TLS."""
    etc = root / "etc/apache2"
    # Links stay links: Debian enables a file by a link to where it is available.
    shutil.copytree(STOCK, etc, symlinks=True)
    plain, tls = free_ports(2)
    moved(etc / "envvars", {"/var/": f"{root}/var/"})
    ports = {"Listen 80": f"Listen 127.0.0.1:{plain}", "Listen 443": f"Listen 127.0.0.1:{tls}"}
    moved(etc / "ports.conf", ports)
    moved(etc / "apache2.conf", {"<Directory /var/www/>": f"<Directory {root}/srv/>"})
    for enabled in ("mods-enabled", "sites-enabled"):
        for link in (etc / enabled).iterdir():
            if link.name.startswith(("mpm_", "perl", "000-")):
                link.unlink()
    for module in (f"mpm_{mpm}", "ssl", "socache_shmcb", "rewrite", "proxy", "proxy_fcgi"):
        for end in ("load", "conf"):
            if (etc / f"mods-available/{module}.{end}").exists():
                enable(etc, "mods", f"{module}.{end}")
    if mpm == "prefork":
        write(etc / "mods-available/mpm_prefork.conf", PREFORK_CONF)
    for folder in ("var/log/apache2", "var/run/apache2", "var/lock/apache2"):
        (root / folder).mkdir(parents=True)
    site = root / "srv/shop"
    write(site / "index.html", "shop\n")
    write(site / "img/index.html", "img\n")
    write(site / ".htaccess", "Options -Indexes\n")
    write(site / "img/.htaccess", "RewriteEngine On\nRewriteRule ^old$ index.html [L]\n")
    write(root / "srv/secure/index.html", "secure\n")
    write(root / "srv/blog/index.html", "blog\n")
    certificate(root / "etc/ssl")
    sites = {"shop": _SHOP, "blog": _BLOG, "secure": _SECURE}
    for number, (name, text) in enumerate(sites.items()):
        filled = text.format(root=root, plain=plain, tls=tls)
        write(etc / f"sites-available/{number:03}-{name}.conf", filled)
        enable(etc, "sites", f"{number:03}-{name}.conf")
    return ApacheTree(root=root, main=etc / "apache2.conf", ports=(plain, tls))


def rhel_tree(root: Path) -> ApacheTree:
    """The layout of RHEL: `conf`, `conf.d`, `conf.modules.d`, paths relative to the root."""
    etc = root / "etc/httpd"
    (port,) = free_ports(1)
    for folder in ("conf.d", "run", "logs"):
        (etc / folder).mkdir(parents=True)
    (etc / "modules").symlink_to(MODULES)
    write(etc / "conf/httpd.conf", _RHEL.format(root=root, port=port))
    write(etc / "conf/magic", "# none\n")
    write(etc / "conf.modules.d/00-base.conf", _RHEL_MODULES)
    write(
        etc / "conf.modules.d/00-mpm.conf", "LoadModule mpm_event_module modules/mod_mpm_event.so\n"
    )
    write(
        etc / "conf.d/welcome.conf",
        '<LocationMatch "^/+$">\n    Options -Indexes\n</LocationMatch>\n',
    )
    write(etc / "conf.d/README", "not read\n")
    write(root / "var/www/html/index.html", "rhel\n")
    return ApacheTree(root=root, main=etc / "conf/httpd.conf", ports=(port,))


def one_file_tree(root: Path) -> ApacheTree:
    """All in one file, as old hands write it: macros, continued lines, CRLF, odd case."""
    (port,) = free_ports(1)
    text = _ONE_FILE.format(root=root, modules=MODULES, port=port)
    write(root / "www/index.html", "one\n")
    (root / "run").mkdir()
    (root / "apache.conf").write_bytes(text.replace("\n", "\r\n").encode())
    return ApacheTree(root=root, main=root / "apache.conf", ports=(port,))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def moved(path: Path, replacements: Mapping[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in replacements.items():
        assert old in text, f"{path} has no {old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def enable(etc: Path, what: str, name: str) -> None:
    (etc / f"{what}-enabled").mkdir(exist_ok=True)
    link = etc / f"{what}-enabled" / name
    if not link.is_symlink():
        link.symlink_to(f"../{what}-available/{name}")


def certificate(folder: Path, name: str = "secure.example") -> None:
    folder.mkdir(parents=True)
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )


_SHOP = """<VirtualHost *:{plain}>
    ServerName shop.example
    ServerAlias www.shop.example
    DocumentRoot {root}/srv/shop
    <Directory {root}/srv/shop>
        AllowOverride All
    </Directory>
    ErrorLog ${{APACHE_LOG_DIR}}/shop-error.log
    CustomLog "|/usr/bin/rotatelogs ${{APACHE_LOG_DIR}}/shop.%Y%m%d.log 86400" combined
</VirtualHost>
"""
_BLOG = """<VirtualHost *:{plain}>
    ServerName blog.example
    DocumentRoot {root}/srv/blog
    KeepAliveTimeout 15
    <Directory {root}/srv/blog>
        AllowOverride FileInfo
    </Directory>
    <FilesMatch "\\.php$">
        SetHandler "proxy:unix:{root}/run/php.sock|fcgi://localhost"
    </FilesMatch>
    CustomLog ${{APACHE_LOG_DIR}}/blog.log combined
</VirtualHost>
"""
_SECURE = """<IfModule mod_ssl.c>
<VirtualHost _default_:{tls}>
    ServerName secure.example
    DocumentRoot {root}/srv/secure
    SSLEngine on
    SSLCertificateFile {root}/etc/ssl/cert.pem
    SSLCertificateKeyFile {root}/etc/ssl/key.pem
    CustomLog ${{APACHE_LOG_DIR}}/secure.log combined
</VirtualHost>
<VirtualHost _default_:{tls}>
    ServerName other.example
    DocumentRoot {root}/srv/secure
    SSLEngine on
    SSLCertificateFile {root}/etc/ssl/cert.pem
    SSLCertificateKeyFile {root}/etc/ssl/key.pem
    CustomLog ${{APACHE_LOG_DIR}}/other.log combined
</VirtualHost>
</IfModule>
"""
_RHEL = """ServerRoot "{root}/etc/httpd"
Listen 127.0.0.1:{port}
Include conf.modules.d/*.conf
User www-data
Group www-data
ServerAdmin root@localhost
ServerName rhel.example
DefaultRuntimeDir run
PidFile run/httpd.pid
<Directory />
    AllowOverride none
    Require all denied
</Directory>
DocumentRoot "{root}/var/www/html"
<Directory "{root}/var/www/html">
    Options Indexes FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
ErrorLog "logs/error_log"
LogLevel warn
<IfModule log_config_module>
    LogFormat "%h %l %u %t \\"%r\\" %>s %b \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
    CustomLog "logs/access_log" combined
</IfModule>
<IfModule mime_magic_module>
    MIMEMagicFile conf/magic
</IfModule>
EnableSendfile on
IncludeOptional conf.d/*.conf
"""
_RHEL_MODULES = """LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule dir_module modules/mod_dir.so
LoadModule info_module modules/mod_info.so
LoadModule mime_magic_module modules/mod_mime_magic.so
"""
_ONE_FILE = """# one file, written by hand
serverroot {root}
loadmodule mpm_worker_module {modules}/mod_mpm_worker.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule macro_module {modules}/mod_macro.so
Define wait 7
DefaultRuntimeDir {root}/run
PidFile {root}/run/pid
ErrorLog {root}/run/error.log
User www-data
Group www-data
listen 127.0.0.1:{port}
ServerName one.example
# a comment that goes on \\
KeepAlive Off
keepalivetimeout \\
    ${{wait}}
StartServers 1
MinSpareThreads 5
MaxSpareThreads 50
ThreadsPerChild 5
MaxRequestWorkers   20
<Macro site $name>
  <VirtualHost *:{port}>
    ServerName $name
    DocumentRoot "{root}/www"
    KeepAliveTimeout 3
  </VirtualHost>
</Macro>
Use site one.example
Use site two.example
<Directory "{root}/www">
  Require all granted
</Directory>
<IfModule mod_info.c>
  Timeout 99
</IfModule>
CustomLog {root}/run/access.log \\
  "%h \\"%r\\" %>s"
# the end, without a newline"""
