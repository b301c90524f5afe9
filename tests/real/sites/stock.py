"""Debian's stock nginx and Apache with three sites each, below a folder of the caller's own.

Static files, PHP by php-fpm, and TLS with two certificates chosen by name; with rewrite rules, and
in Apache `.htaccess` files and a log that is piped to `rotatelogs`.
"""

import re
import shutil
from pathlib import Path

from tests.real.sites.apache import certificate, debian_tree, enable, moved, write

from httpdyno.model import Member

STOCK = Path("/etc/nginx")
NAMES = ("secure", "other")


def stock_nginx(root: Path) -> Member:
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
        certificate(root / "etc/ssl" / name)
    for name, text in {"shop": _SHOP, "blog": _BLOG, "secure": _SECURE}.items():
        write(root / f"srv/{name}/index.html", f"{name}\n")
        write(etc / f"sites-available/{name}", text.replace("@/", f"{root}/"))
        enable(etc, "sites", name)
    return Member(name="nginx", kind="nginx", main=str(main))


def stock_apache(root: Path, *, mpm: str = "event") -> Member:
    """Write Apache's, with a certificate of its own for the second name of TLS."""
    tree = debian_tree(root, mpm=mpm)
    certificate(root / "etc/ssl/other")
    site = root / "etc/apache2/sites-available/002-secure.conf"
    first, second = site.read_text().split("ServerName other.example")
    second = second.replace(f"{root}/etc/ssl/", f"{root}/etc/ssl/other/")
    site.write_text(f"{first}ServerName other.example{second}")
    rules = "RewriteEngine On\n    RewriteRule ^/old/(.*)$ /$1 [R=301,L]\n"
    blog = root / "etc/apache2/sites-available/001-blog.conf"
    moved(blog, {"    CustomLog": f"    {rules}    CustomLog"})
    return tree.member


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
	root @/srv/secure;
	ssl_certificate @/etc/ssl/{name}/cert.pem;
	ssl_certificate_key @/etc/ssl/{name}/key.pem;
	access_log @/var/log/nginx/{name}.log;
}}
"""
    for name in NAMES
)
