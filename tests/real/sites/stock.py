"""Debian's stock nginx and Apache with three sites each, below a folder of the caller's own.

Static files, a program (PHP by Debian's stock php-fpm, or mod_perl in a prefork Apache), and TLS
with two certificates chosen by name; with rewrite rules, and in Apache `.htaccess` files and a log
that is piped to `rotatelogs`. With each come the requests that say whether it is served.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real.sites.apache import certificate, debian_tree, enable, moved, write

from httpdyno.model import Member

STOCK = Path("/etc/nginx")
STOCK_PHP = Path("/etc/php/8.2/fpm")
PHP = "/usr/sbin/php-fpm8.2"
NAMES = ("secure", "other")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A request, and the answer that is right."""

    what: str
    host: str
    path: str
    body: str = ""
    moved_to: str = ""
    """The path that a redirect leads to; empty: the answer is no redirect."""
    certificate: Path | None = None
    """Of the host's name; it is asked over TLS, and no other certificate will do."""


@dataclass(frozen=True, kw_only=True)
class StockSite:
    """Servers as their packages configure them, and what they serve."""

    members: tuple[Member, ...]
    """Front to back."""
    questions: tuple[Question, ...]
    piped_log: str = ""
    """What its lines are known by, in a file that a copy writes; empty: no log is piped."""

    @property
    def front(self) -> Member:
        return self.members[0]


def stock_nginx(root: Path) -> StockSite:
    """Write nginx's; its ports are the stock ones, so it is for seats alone."""
    etc = root / "etc/nginx"
    # Links stay links: Debian enables a file by a link to where it is available.
    shutil.copytree(STOCK, etc, symlinks=True)
    for link in (etc / "sites-enabled").iterdir():
        link.unlink()
    for folder in ("var/log/nginx", "run"):
        (root / folder).mkdir(parents=True)
    main = etc / "nginx.conf"
    here = re.sub(r"(?<=\s)/(etc/nginx|var/log|run)/", rf"{root}/\1/", main.read_text())
    main.write_text(here)
    for name in NAMES:
        certificate(root / "etc/ssl" / name, f"{name}.example")
        write(root / f"srv/{name}/index.html", f"{name}\n")
    for name, text in {"shop": _SHOP, "blog": _BLOG, "secure": _SECURE}.items():
        write(root / f"srv/{name}/index.html", f"{name}\n")
        write(etc / f"sites-available/{name}", text.replace("@/", f"{root}/"))
        enable(etc, "sites", name)
    questions = (
        Question(what="static", host="shop.example", path="/", body="shop\n"),
        Question(what="rewrite", host="www.shop.example", path="/old/a/b", moved_to="/a/b"),
        *_php_questions(),
        Question(what="PHP for all", host="blog.example", path="/a/b?n=5", body="fpm-fcgi 35"),
        *_tls_questions({name: root / "etc/ssl" / name for name in NAMES}),
    )
    front = Member(name="nginx", kind="nginx", main=str(main))
    return StockSite(members=(front, stock_php(root)), questions=questions)


def stock_apache(root: Path, *, mpm: str = "event") -> StockSite:
    """Write Apache's, with a certificate of its own for the second name of TLS.

    As prefork its program is mod_perl's, else PHP's.
    """
    tree = debian_tree(root, mpm=mpm)
    etc = root / "etc/apache2"
    certificate(root / "etc/ssl/other", "other.example")
    site = etc / "sites-available/002-secure.conf"
    first, second = site.read_text().split("ServerName other.example")
    second = second.replace(f"{root}/etc/ssl/", f"{root}/etc/ssl/other/")
    second = second.replace(f"{root}/srv/secure", f"{root}/srv/other")
    site.write_text(f"{first}ServerName other.example{second}")
    write(root / "srv/other/index.html", "other\n")
    rules = "RewriteEngine On\n    RewriteRule ^/old/(.*)$ /$1 [R=301,L]\n"
    blog = etc / "sites-available/001-blog.conf"
    moved(blog, {"    CustomLog": f"    {rules}    CustomLog"})
    questions = [
        Question(what="static", host="shop.example", path="/index.html", body="shop\n"),
        Question(what=".htaccess", host="www.shop.example", path="/img/old", body="img\n"),
        Question(what="rewrite", host="blog.example", path="/old/a/b", moved_to="/a/b"),
        *_tls_questions({"secure": root / "etc/ssl", "other": root / "etc/ssl/other"}),
    ]
    members = [tree.member]
    if mpm == "prefork":
        enable(etc, "mods", "perl.load")
        write(root / "srv/Page.pm", _PERL)
        text = blog.read_text()
        start, end = text.index("    <FilesMatch"), text.index("    RewriteEngine")
        blog.write_text(f"{text[:start]}{_PERL_SITE.format(root=root)}{text[end:]}")
        page = "/app?n=6"
        questions.append(
            Question(what="mod_perl", host="blog.example", path=page, body="mod_perl 42")
        )
    else:
        members.append(stock_php(root))
        questions += _php_questions()
    return StockSite(members=tuple(members), questions=tuple(questions), piped_log="GET /img/old")


def stock_php(root: Path) -> Member:
    """Write Debian's php-fpm, with its pool, for the site `blog`."""
    etc = root / "etc/php"
    shutil.copytree(STOCK_PHP, etc, symlinks=True)
    log = root / "var/log/php-fpm.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    (root / "run").mkdir(exist_ok=True)
    moved(
        etc / "php-fpm.conf",
        {
            "pid = /run/php/php8.2-fpm.pid": f"pid = {root}/run/php-fpm.pid",
            "error_log = /var/log/php8.2-fpm.log": f"error_log = {log}",
            "include=/etc/php/8.2/fpm/": f"include={etc}/",
        },
    )
    pool = {"listen = /run/php/php8.2-fpm.sock": f"listen = {root}/run/php.sock"}
    moved(etc / "pool.d/www.conf", pool)
    write(root / "srv/blog/index.php", "<?php echo PHP_SAPI, ' ', 7 * (int) $_GET['n'];")
    return Member(name="php", kind="php-fpm", main=str(etc / "php-fpm.conf"), program=PHP)


def _php_questions() -> tuple[Question, ...]:
    page = "/index.php?n=6"
    return (Question(what="PHP", host="blog.example", path=page, body="fpm-fcgi 42"),)


def _tls_questions(folders: Mapping[str, Path]) -> tuple[Question, ...]:
    return tuple(
        Question(
            what=f"TLS {name}",
            host=f"{name}.example",
            path="/index.html",
            body=f"{name}\n",
            certificate=folder / "cert.pem",
        )
        for name, folder in folders.items()
    )


_SHOP = """server {
	listen 80 default_server;
	listen [::]:80 default_server;
	server_name shop.example www.shop.example;
	root @/srv/shop;
	index index.html;
	rewrite ^/old/(.*)$ /$1 permanent;

	location ~* \\.(css|js|png)$ {
		expires 7d;
	}
}
"""
_BLOG = """server {
	listen 80;
	server_name blog.example;
	root @/srv/blog;
	index index.php index.html;

	location / {
		try_files $uri $uri/ /index.php?$args;
	}

	location ~ \\.php$ {
		include snippets/fastcgi-php.conf;
		fastcgi_pass unix:@/run/php.sock;
	}
}
"""
_SECURE = "".join(
    f"""server {{
	listen 443 ssl;
	server_name {name}.example;
	root @/srv/{name};
	ssl_certificate @/etc/ssl/{name}/cert.pem;
	ssl_certificate_key @/etc/ssl/{name}/key.pem;
	access_log @/var/log/nginx/{name}.log;
}}
"""
    for name in NAMES
)
_PERL_SITE = """    PerlRequire {root}/srv/Page.pm
    <Location /app>
        SetHandler modperl
        PerlResponseHandler Page
    </Location>
"""
_PERL = """package Page;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => 'OK';
sub handler {
    my $r = shift;
    my ($n) = ($r->args // '') =~ /n=(\\d+)/;
    $r->content_type('text/plain');
    $r->print('mod_perl ', 7 * $n);
    return Apache2::Const::OK;
}
1;
"""
