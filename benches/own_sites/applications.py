"""Applications that ask what they may write: Debian's own, and scripts that ask as others do.

Each is written as its owner has it: its real configuration, a real server before it, its own user,
and data that lies in another folder each. Those of Debian come from unpacked packages.
"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benches.own_sites.ground import USER, Ground, Server, apache, nginx, open_to_all, own, php_fpm

_SHARED = ("usr/share/php",)
_XML = ("dom", "simplexml", "xml", "xmlreader", "xmlwriter")
_FIXED = {"GIT_AUTHOR_DATE": "2023-05-01T12:00:00Z", "GIT_COMMITTER_DATE": "2023-05-01T12:00:00Z"}
_A_KNOB = ("--knob", "apache:MaxConnectionsPerChild=0,1000")
_LOGO_S = 1_650_000_000


@dataclass(frozen=True, kw_only=True)
class Application:
    """An application that is written, how it is started, and what it is asked."""

    servers: tuple[Server, ...]
    """Front to back; the owner starts them from the last one on."""
    pages: tuple[str, ...]
    greeting: str
    """What its first page says where it works; its error page does not."""
    options: tuple[str, ...] = ()
    """Of `adopt`, where nothing of it is proposed by itself."""
    slack_bytes: int = 0
    """By how much sizes of one server's answers differ, for the times that they tell."""
    socket: Path | None = None
    """A socket that the real one asks; no copy may, which `adopt` has to tell by this name."""

    @property
    def source(self) -> tuple[str, ...]:
        """What `adopt` is given besides pages; a command comes last, after `--`."""
        front, *behind = self.servers
        backends = (word for each in behind for word in ("--with", *each.source))
        return (*self.options, *backends, *front.source)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How an application is written, and where its data lies."""

    write: Callable[[Ground], Application]
    root: str
    """The folder that its own folder is made in."""
    data: str


def dokuwiki(ground: Ground) -> Application:
    """DokuWiki, files only, by nginx and a php-fpm at a socket."""
    ground.placed(*_SHARED, "usr/share/dokuwiki", "usr/share/php-geshi", "etc/dokuwiki")
    ground.placed("var/lib/dokuwiki")
    kept = ground.root / "var/lib/dokuwiki"
    # The data is on another disk, as of a wiki that has grown.
    shutil.copytree(kept / "data", ground.data, dirs_exist_ok=True)
    shutil.rmtree(kept / "data")
    (kept / "data").symlink_to(ground.data)
    (kept / "acl/acl.auth.php").write_text("* @ALL 1\n")
    (kept / "acl/users.auth.php").write_text("")
    ground.write("etc/dokuwiki/local.php", _DOKUWIKI)
    page = ground.data / "pages/start.txt"
    page.write_text("====== Welcome ======\n" + "A **page** of [[wiki:syntax]] links.\n\n" * 60)
    open_to_all(ground.root)
    own(ground.data, kept / "acl", mode=0o700)
    listen = f"{ground.root}/run/php.sock"
    pages = ground.root / "usr/share/dokuwiki"
    return Application(
        servers=(
            nginx(ground, pages, upstream=f"unix:{listen}"),
            php_fpm(ground, listen=listen, extensions=ground.extensions(*_XML)),
        ),
        pages=(
            "/doku.php?id=start",
            "/doku.php?id=wiki:syntax",
            "/doku.php?id=start&do=recent",
            "/lib/exe/css.php?t=dokuwiki",
            "/feed.php",
        ),
        greeting="Welcome",
    )


def mediawiki(ground: Ground) -> Application:
    """MediaWiki in SQLite, by Apache's event and a php-fpm."""
    ground.placed("usr/share/mediawiki", "var/lib/mediawiki")
    at, kept = ground.root / "usr/share/mediawiki", ground.root / "var/lib/mediawiki"
    extensions = ground.extensions("intl", "mbstring", *_XML, "pdo", "pdo_sqlite", "sqlite3")
    extensions = tuple(each for each in extensions if Path(each).exists())
    (kept / "LocalSettings.php").unlink()
    url = f"http://127.0.0.1:{ground.port}"
    command = [
        *("php", *(word for each in extensions for word in ("-d", f"extension={each}"))),
        *(f"{at}/maintenance/install.php", "--dbtype=sqlite", f"--dbpath={ground.data}"),
        *("--dbname=wiki", "--scriptpath=", f"--server={url}", f"--confpath={kept}"),
        *("--pass=a-long-password-77", "--lang=en", "Wiki", "Admin"),
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=at)
    settings = kept / "LocalSettings.php"
    settings.write_text(settings.read_text() + _MEDIAWIKI.format(data=ground.data))
    settings.chmod(0o644)
    open_to_all(ground.root)
    own(ground.data, kept / "images", mode=0o755)
    own(ground.data / "cache")
    site = _PROXY_SITE.format(pages=at, to=f"unix:{ground.root}/run/php.sock|fcgi://localhost")
    return Application(
        servers=(
            apache(ground, site, mpm="event", modules=("proxy", "proxy_fcgi")),
            php_fpm(ground, listen=f"{ground.root}/run/php.sock", extensions=extensions),
        ),
        pages=(
            "/index.php?title=Main_Page",
            "/index.php?title=Special:RecentChanges",
            "/index.php?title=Special:Version",
            "/api.php?action=query&meta=siteinfo&format=json",
            "/load.php?modules=site.styles&only=styles&lang=en&skin=vector",
        ),
        greeting="Main Page",
        slack_bytes=32,
    )


def roundcube(ground: Ground) -> Application:
    """Roundcube's page of login, with sessions in SQLite, by nginx and a php-fpm at a port."""
    ground.placed(*_SHARED, "usr/share/roundcube", "etc/roundcube", "var/lib/roundcube")
    kept = ground.root / "var/lib/roundcube"
    (ground.root / "var/log").mkdir(exist_ok=True)
    base = ground.data / "roundcube.db"
    with sqlite3.connect(base) as connection:
        initial = ground.root / "usr/share/roundcube/SQL/sqlite.initial.sql"
        connection.executescript(initial.read_text())
    connection.close()
    ground.write("etc/roundcube/config.inc.php", _ROUNDCUBE.format(data=ground.data))
    (ground.root / "etc/roundcube/debian-db-roundcube.php").write_text("<?php\n")
    open_to_all(ground.root)
    own(ground.data, ground.data / "temp", ground.data / "logs", mode=0o750)
    listen = f"127.0.0.1:{ground.ports[1]}"
    extensions = ground.extensions("intl", "mbstring", *_XML, "pdo_sqlite", "sqlite3")
    return Application(
        servers=(
            nginx(ground, kept / "public_html", upstream=listen),
            php_fpm(
                ground,
                listen=listen,
                extensions=extensions,
                include_path=f".:{ground.root}/usr/share/php:/usr/share/php",
            ),
        ),
        pages=("/index.php", "/index.php?_task=login&_lang=de_DE", "/index.php?_task=logout"),
        greeting="Roundcube",
    )


def phpmyadmin(ground: Ground) -> Application:
    """The page of login of phpMyAdmin, by Apache's event and a php-fpm; no database is there."""
    ground.placed(*_SHARED, "usr/share/phpmyadmin", "etc/phpmyadmin", "var/lib/phpmyadmin")
    kept = ground.root / "var/lib/phpmyadmin"
    secret = "<?php\n$cfg['blowfish_secret'] = 'a-secret-of-32-bytes-for-a-bench';\n"
    (kept / "blowfish_secret.inc.php").write_text(secret)
    (kept / "tmp").rmdir()
    (kept / "tmp").symlink_to(ground.data)
    open_to_all(ground.root)
    own(ground.data, mode=0o700)
    pages = ground.root / "usr/share/phpmyadmin"
    site = _PROXY_SITE.format(pages=pages, to=f"fcgi://127.0.0.1:{ground.ports[1]}")
    return Application(
        servers=(
            apache(ground, site, mpm="event", modules=("proxy", "proxy_fcgi")),
            php_fpm(
                ground,
                listen=f"127.0.0.1:{ground.ports[1]}",
                extensions=ground.extensions("mysqlnd", "mysqli", "mbstring", *_XML),
                include_path=f".:{ground.root}/usr/share/php:/usr/share/php",
            ),
        ),
        pages=("/index.php", "/index.php?route=/&lang=fr", "/js/messages.php?l=en&v=5"),
        greeting="phpMyAdmin",
    )


def gitweb(ground: Ground) -> Application:
    """Run gitweb as CGI of Apache's prefork; git asks whose each repository is."""
    # The program itself comes with git.
    shutil.copytree("/usr/share/gitweb", ground.root / "usr/share/gitweb")
    ground.placed("usr/lib/cgi-bin")
    for name in ("tool", "site"):
        work = ground.root / "work"
        git = partial(subprocess.run, check=True, capture_output=True, env=_git_environment())
        git(["git", "init", "-q", "-b", "main", str(work)])
        (work / "README").write_text("read me\n" * 200)
        git(["git", "-C", str(work), "add", "README"])
        git(["git", "-C", str(work), "commit", "-q", "-m", f"{name}: begin"])
        git(["git", "clone", "-q", "--bare", str(work), str(ground.data / f"{name}.git")])
        (ground.data / f"{name}.git/description").write_text(f"the {name}\n")
        shutil.rmtree(work)
    open_to_all(ground.root)
    own(ground.data, mode=0o750)
    config = ground.write("etc/gitweb.conf", _GITWEB.format(data=ground.data))
    site = _CGI_SITE.format(at=ground.root, config=config)
    return Application(
        servers=(apache(ground, site, mpm="prefork", modules=("cgi",)),),
        pages=(
            "/gitweb.cgi",
            "/gitweb.cgi?p=tool.git;a=summary",
            "/gitweb.cgi?p=tool.git;a=blob;f=README",
            "/gitweb.cgi?p=site.git;a=log",
        ),
        greeting="tool.git",
        options=_A_KNOB,
    )


def radicale(ground: Ground) -> Application:
    """Radicale's calendars in files, by a gunicorn of a virtualenv."""
    ground.placed("usr/lib/python3/dist-packages")
    config = ground.write("etc/radicale", _RADICALE.format(data=ground.data))
    calendar = ground.data / "collection-root/ann/home"
    calendar.mkdir(parents=True)
    (calendar / ".Radicale.props").write_text('{"tag": "VCALENDAR", "D:displayname": "home"}')
    for n in range(20):
        (calendar / f"{n}.ics").write_text(_EVENT.format(n=n).replace("\n", "\r\n"))
    python = ground.root / "venv/bin/python3"
    make = ["/usr/bin/python3", "-m", "venv", "--without-pip", str(ground.root / "venv")]
    subprocess.run(make, check=True, capture_output=True)
    [packages] = (ground.root / "venv/lib").glob("python3*/site-packages")
    (packages / "debian.pth").write_text(f"{ground.root}/usr/lib/python3/dist-packages\n")
    program = ground.write("venv/bin/gunicorn", _GUNICORN_PROGRAM.format(python=python))
    program.chmod(0o755)
    text = _GUNICORN.format(at=ground.root, port=ground.port, user=USER, config=config)
    conf = ground.write("gunicorn.conf.py", text)
    open_to_all(ground.root)
    own(ground.data, mode=0o750)
    words = (str(program), "-c", str(conf), "radicale:application")
    return Application(
        servers=(Server(command=words, source=("--", *words)),),
        pages=("/.web/", "/ann/home/", "/ann/home/3.ics", "/.web/fn.js"),
        greeting="Radicale",
    )


def nextcloud(ground: Ground) -> Application:
    """What Nextcloud asks, with its configuration where the servers' own is."""
    pages = ground.root / "www"
    ground.asking("nextcloud.php", "www/index.php")
    ground.asking("nextcloud_status.php", "www/status.php")
    ground.write("www/config/config.php", "<?php $CONFIG = [];\n")
    (pages / "data").symlink_to(ground.data)
    (ground.data / ".ocdata").touch()
    os.utime(ground.data / ".ocdata", (_LOGO_S, _LOGO_S))
    with sqlite3.connect(ground.data / "owncloud.db") as connection:
        connection.executescript("CREATE TABLE users (name); INSERT INTO users VALUES ('ann');")
    connection.close()
    sessions = ground.root / "sessions"
    open_to_all(ground.root)
    own(pages / "config", sessions, ground.data, mode=0o770)
    listen = f"{ground.root}/run/php.sock"
    return Application(
        servers=(
            nginx(
                *(ground, pages),
                upstream=f"unix:{listen}",
                file="nginx.conf",
                parameters={"APP_DATA": str(ground.data)},
            ),
            php_fpm(
                ground,
                listen=listen,
                file="php-fpm.conf",
                extensions=ground.extensions("pdo_sqlite"),
                settings={"session.save_path": str(sessions)},
            ),
        ),
        pages=("/index.php", "/status.php"),
        greeting="Files of ann",
    )


def moodle(ground: Ground) -> Application:
    """What Moodle asks, by PHP inside Apache's prefork."""
    ground.asking("moodle.php", "www/index.php")
    (ground.data / "muc").mkdir()
    (ground.data / "muc/config.php").write_text("<?php\n")
    open_to_all(ground.root)
    own(ground.data, mode=0o2770)
    module = ground.packages / "usr/lib/apache2/modules/libphp8.2.so"
    site = _MOD_PHP_SITE.format(module=module, at=ground.root, data=ground.data)
    return Application(
        # Below its own folder, where a copy sees that of the real one, which runs.
        servers=(apache(ground, site, mpm="prefork", pid_file=f"{ground.root}/run/apache2.pid"),),
        pages=("/index.php", "/"),
        greeting="Moodle",
        options=_A_KNOB,
    )


def drupal(ground: Ground) -> Application:
    """What Drupal asks: files that it may write below a folder that it may not."""
    ground.asking("drupal.php", "www/index.php")
    site = ground.root / "www/sites/default"
    ground.write("www/sites/default/settings.php", "<?php $settings = [];\n").chmod(0o444)
    files = site / "files"
    files.mkdir()
    (files / "logo.png").write_bytes(b"logo" * 256)
    (site / "private").symlink_to(ground.data)
    open_to_all(ground.root)
    own(files, ground.data, mode=0o775)
    os.utime(files / "logo.png", (_LOGO_S, _LOGO_S))
    listen = f"127.0.0.1:{ground.ports[1]}"
    return Application(
        servers=(
            nginx(
                *(ground, ground.root / "www"),
                upstream=listen,
                parameters={"APP_DATA": str(ground.data)},
            ),
            php_fpm(ground, listen=listen),
        ),
        pages=("/index.php", "/sites/default/files/logo.png"),
        greeting="Drupal",
    )


def wordpress(
    ground: Ground, *, pages: tuple[str, ...] = ("/index.php", "/index.php?p=2")
) -> Application:
    """What WordPress asks: whether its files are whose it runs as."""
    ground.asking("wordpress.php", "www/index.php")
    ground.write("www/wp-admin/file.php", "<?php\n")
    for name in ("uploads", "cache"):
        (ground.data / name).mkdir()
    (ground.root / "www/wp-content").symlink_to(ground.data)
    open_to_all(ground.root)
    own(ground.root / "www", ground.data)
    listen = ground.root / "run/php.sock"
    redis = ground.root / "redis/redis.sock"
    site = _PROXY_SITE.format(pages=ground.root / "www", to=f"unix:{listen}|fcgi://localhost")
    site += f"SetEnv APP_SOCKET {redis}\n"
    return Application(
        servers=(
            apache(ground, site, mpm="event", modules=("proxy", "proxy_fcgi")),
            php_fpm(ground, listen=str(listen)),
        ),
        pages=pages,
        greeting="Hello world!",
    )


def wordpress_with_redis(ground: Ground) -> Application:
    """The same with an object cache, which the real one reaches at a socket, and a copy may not."""
    built = wordpress(ground, pages=("/index.php?cached=1",))
    return Application(
        servers=built.servers,
        pages=built.pages,
        greeting=built.greeting,
        socket=ground.root / "redis/redis.sock",
    )


def matomo(ground: Ground) -> Application:
    """What Matomo asks, below an `open_basedir`."""
    ground.asking("matomo.php", "www/index.php")
    for name in ("logs", "cache/old", "cache/tracker"):
        (ground.data / "tmp" / name).mkdir(parents=True)
    (ground.data / "tmp/logs/archive.log").write_text("began\n")
    open_to_all(ground.root)
    own(ground.data, mode=0o750)
    listen = f"{ground.root}/run/php.sock"
    return Application(
        servers=(
            nginx(
                *(ground, ground.root / "www"),
                upstream=f"unix:{listen}",
                parameters={"APP_DATA": str(ground.data)},
            ),
            php_fpm(
                ground,
                listen=listen,
                settings={"open_basedir": f"{ground.root}/www:{ground.data}:/dev/urandom"},
            ),
        ),
        pages=("/index.php", "/"),
        greeting="Matomo",
    )


def joomla(ground: Ground) -> Application:
    """What Joomla asks: each of its folders, shown as a page; some may not be written."""
    ground.asking("joomla.php", "www/index.php")
    ground.write("www/configuration.php", "<?php\n").chmod(0o444)
    for name in ("language/en", "images", "tmp", "administrator/cache", "cache/_system"):
        (ground.root / "www" / name).mkdir(parents=True)
    for name in ("a.png", "b.png"):
        (ground.root / "www/images" / name).write_bytes(b"image")
    open_to_all(ground.root)
    www = ground.root / "www"
    own(www / "images", www / "tmp", www / "administrator/cache", www / "cache")
    own(ground.data, ground.data / "logs", ground.data / "sessions", mode=0o750)
    site = _PROXY_SITE.format(pages=www, to=f"fcgi://127.0.0.1:{ground.ports[1]}")
    site += f"SetEnv APP_DATA {ground.data}\n"
    return Application(
        servers=(
            apache(
                *(ground, site),
                mpm="event",
                modules=("proxy", "proxy_fcgi"),
                file="apache2.conf",
            ),
            php_fpm(
                ground,
                listen=f"127.0.0.1:{ground.ports[1]}",
                file="php-fpm.conf",
                settings={"session.save_path": str(ground.data / "sessions")},
            ),
        ),
        pages=("/index.php", "/images/a.png"),
        greeting="Joomla",
    )


def uploads(ground: Ground) -> Application:
    """A program of node that becomes another user once it listens."""
    program = ground.asking("uploads.js", "uploads.js")
    for name in ("kept", "thumbs"):
        (ground.data / name).mkdir()
    (ground.data / "thumbs/a.png").write_bytes(b"thumb")
    open_to_all(ground.root)
    own(ground.data, mode=0o750)
    words = ("node", str(program), str(ground.data), str(ground.port))
    return Application(
        servers=(Server(command=words, source=("--", *words)),),
        pages=("/", "/again"),
        greeting="uploads of www-data",
    )


def _git_environment() -> dict[str, str]:
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in {"NAME": "Ann", "EMAIL": "ann@example.org"}.items()
    }
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **who, **_FIXED}


APPLICATIONS: dict[str, Kind] = {
    "dokuwiki": Kind(write=dokuwiki, root="/srv", data="/var/lib"),
    "mediawiki": Kind(write=mediawiki, root="/var", data="/srv"),
    "roundcube": Kind(write=roundcube, root="/opt", data="/var/lib"),
    "phpmyadmin": Kind(write=phpmyadmin, root="/usr/local", data="/var/cache"),
    "gitweb": Kind(write=gitweb, root="/srv", data="/home"),
    "radicale": Kind(write=radicale, root="/opt", data="/var/lib"),
    "nextcloud": Kind(write=nextcloud, root="/srv", data="/mnt"),
    "moodle": Kind(write=moodle, root="/var", data="/"),
    "drupal": Kind(write=drupal, root="/home", data="/var/tmp"),
    "wordpress": Kind(write=wordpress, root="/srv", data="/usr/local"),
    "wordpress-redis": Kind(write=wordpress_with_redis, root="/srv", data="/srv"),
    "matomo": Kind(write=matomo, root="/opt", data="/media"),
    "joomla": Kind(write=joomla, root="/usr/share", data="/var/log"),
    "uploads": Kind(write=uploads, root="/home", data="/opt"),
}

_DOKUWIKI = """<?php
$conf['title'] = 'Wiki';
$conf['useacl'] = 0;
$conf['lang'] = 'en';
$conf['updatecheck'] = 0;
"""
_MEDIAWIKI = """
$wgCacheDirectory = '{data}/cache';
$wgMainCacheType = CACHE_DB;
$wgJobRunRate = 0;
$wgShowHostnames = false;
wfLoadSkin( 'Vector' );
$wgDefaultSkin = 'vector';
"""
_ROUNDCUBE = """<?php
$config['db_dsnw'] = 'sqlite:///{data}/roundcube.db?mode=0640';
$config['temp_dir'] = '{data}/temp';
$config['log_dir'] = '{data}/logs';
$config['imap_host'] = 'localhost:143';
$config['des_key'] = 'a-key-of-24-bytes-length';
$config['plugins'] = [];
$config['skin'] = 'elastic';
"""
_GITWEB = """$projectroot = "{data}";
$git_temp = "/tmp";
"""
_RADICALE = """[auth]
type = none
[rights]
type = authenticated
[storage]
filesystem_folder = {data}
[logging]
level = warning
"""
_EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//bench//
BEGIN:VEVENT
UID:{n}@bench
DTSTAMP:20230501T120000Z
DTSTART:20230501T130000Z
SUMMARY:event {n}
END:VEVENT
END:VCALENDAR
"""
_GUNICORN = """import os

os.environ["RADICALE_CONFIG"] = "{config}"
bind = "127.0.0.1:{port}"
workers = 1
user = "{user}"
group = "{user}"
pidfile = "{at}/gunicorn.pid"
"""
_GUNICORN_PROGRAM = """#!{python}
import sys
from gunicorn.app.wsgiapp import run
sys.exit(run())
"""
_PROXY_SITE = """DocumentRoot {pages}
<Directory {pages}>
    Require all granted
</Directory>
<FilesMatch "\\.php$">
    SetHandler "proxy:{to}"
</FilesMatch>
"""
_CGI_SITE = """DocumentRoot {at}/usr/lib/cgi-bin
SetEnv GITWEB_CONFIG {config}
<Directory {at}/usr/lib/cgi-bin>
    Options +ExecCGI
    SetHandler cgi-script
</Directory>
"""
_MOD_PHP_SITE = """LoadModule php_module {module}
DocumentRoot {at}/www
SetEnv APP_DATA {data}
<FilesMatch "\\.php$">
    SetHandler application/x-httpd-php
</FilesMatch>
"""
