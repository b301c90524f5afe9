"""What is said of an Apache's lookups, folders, modules, wording and compression."""

import pytest
from tests.advice.rules.told import apache, evidence, named, said
from tests.rows import each_row

HOST = "<VirtualHost *:80>\nServerName shop.example\nDocumentRoot /srv/shop\n{}\n</VirtualHost>\n"


def folder(path, *lines):
    return "\n".join([f"<Directory {path}>", *lines, "</Directory>\n"])


FIRES = [
    (
        "short-lives",
        "MaxConnectionsPerChild 100\nMaxRequestWorkers 50",
        (),
        "a process ends after 100 connections: where the parent replaces ended ones once a second, "
        "50 processes take at most 5,000 a second",
    ),
    (
        "short-lives",
        "MaxRequestsPerChild 1\nMaxRequestWorkers 50",
        (),
        "a process ends after 1 connection: where the parent replaces ended ones once a second, "
        "50 processes take at most 50 a second",
    ),
    (
        "name-lookups",
        "HostnameLookups Double",
        (),
        "the name server is asked for the name of each client, and the client waits twice",
    ),
    (
        "access-by-name",
        folder("/srv", "Require host shop.example"),
        (),
        "access is by names of hosts: Apache asks the name server twice for each client, "
        "though `HostnameLookups` is off",
    ),
    (
        "access-by-name",
        folder("/srv", "Order deny,allow", "Deny from all", "Allow from 10.0.0.0/8 .shop.example"),
        (),
        "access is by names of hosts: Apache asks the name server twice for each client, "
        "though `HostnameLookups` is off",
    ),
    (
        "overrides",
        folder("/", "AllowOverride All") + HOST.format(""),
        (),
        "for each request Apache looks for `.htaccess` in 3 folders of the path to /srv/shop, and "
        "in each deeper one",
    ),
    (
        "overrides",
        folder("/", "AllowOverride None")
        + HOST.format(folder("/srv/shop", "AllowOverride FileInfo")),
        (),
        "for each request Apache looks for `.htaccess` in 1 folder of the path to /srv/shop, and "
        "in each deeper one",
    ),
    (
        "overrides",
        folder("/", "AllowOverride None")
        + HOST.format("")
        + "Alias /app /srv/app\n"
        + folder("/srv/app", "AllowOverride All"),
        ("alias",),
        "for each request Apache looks for `.htaccess` in 1 folder of the path to /srv/app, and in "
        "each deeper one",
    ),
    (
        "link-checks",
        "Alias /app /srv/app\n" + folder("/srv/app", "Options SymLinksIfOwnerMatch"),
        ("alias",),
        "`SymLinksIfOwnerMatch` for /srv/app: each request checks whether one of the 3 folders of "
        "the path, or what lies below, is a link",
    ),
    (
        "link-checks",
        folder("/srv", "Options Indexes") + HOST.format(""),
        (),
        "no `FollowSymLinks` for /srv/shop: each request checks whether one of the 3 folders of "
        "the path, or what lies below, is a link",
    ),
    (
        "link-checks",
        HOST.format(folder("/srv/shop", "Options +SymLinksIfOwnerMatch")),
        (),
        "`SymLinksIfOwnerMatch` for /srv/shop: each request checks whether one of the 3 folders of "
        "the path, or what lies below, is a link",
    ),
    (
        "unused-modules",
        "Listen 80",
        ("status", "info", "userdir", "autoindex", "negotiation"),
        "loaded, and used by nothing here: status_module, info_module, userdir_module, "
        "autoindex_module, negotiation_module",
    ),
    (
        "unseen-status",
        "ExtendedStatus On",
        ("status",),
        "`ExtendedStatus` is on, and nothing shows it: no place has the handler `server-status`",
    ),
    (
        "scripts-twice",
        "Alias /perl/ /srv/perl/\nScriptAlias /cgi-bin/ /srv/perl/",
        ("perl", "alias", "cgi"),
        "/srv/perl is served at /perl/ and, as CGI, at /cgi-bin/: there each request starts a "
        "process and compiles its script",
    ),
    (
        "removed-directives",
        "CacheSize 1000",
        (),
        "`CacheSize` went with the disk cache of 1.3: clean it with `htcacheclean`",
    ),
    ("removed-directives", "NameVirtualHost *:80", (), "`NameVirtualHost` does nothing since 2.4"),
    (
        "order-with-space",
        folder("/srv", "Order deny, allow"),
        (),
        "`Order` takes one word: with a space behind the comma Apache refuses it",
    ),
    (
        "long-cache-path",
        "CacheDirLevels 5\nCacheDirLength 5",
        (),
        "`CacheDirLevels` 5 × `CacheDirLength` 5 is 25: Apache refuses more than 20",
    ),
    (
        "long-cache-path",
        "CacheDirLevels 11",
        (),
        "`CacheDirLevels` 11 × `CacheDirLength` 2 is 22: Apache refuses more than 20",
    ),
    (
        "compressed-twice",
        "AddOutputFilterByType DEFLATE text/html image/png application/zip",
        (),
        "compressed again, though they are compressed: image/png, application/zip",
    ),
    (
        "compressed-everything",
        "SetOutputFilter DEFLATE",
        (),
        "all answers are compressed, images and archives too: nothing excepts them",
    ),
    (
        "forced-compression",
        "SetOutputFilter DEFLATE\nSetEnv force-gzip 1",
        (),
        "`force-gzip` is set: answers are compressed whatever a client takes",
    ),
    (
        "debug-log",
        "LogLevel warn rewrite:trace3",
        (),
        "each request writes lines for debugging into the error log",
    ),
    (
        "perl-reload",
        "PerlModule Apache2::Reload",
        ("perl",),
        "each request checks whether modules were changed, or runs under a debugger",
    ),
]
SILENT = [
    ("short-lives", "MaxConnectionsPerChild 0", ()),
    ("short-lives", "MaxConnectionsPerChild 10000", ()),
    ("short-lives", "MaxConnectionsPerChild few", ()),
    ("name-lookups", "HostnameLookups Off", ()),
    ("access-by-name", folder("/srv", "Require ip 192.0.2.0/24", "Require all granted"), ()),
    ("access-by-name", folder("/srv", "Require not ip ::1", "Require local"), ()),
    ("access-by-name", folder("/srv", "Allow from 192.0.2 2001:db8::/32 ::1 env=ok"), ()),
    ("overrides", folder("/", "AllowOverride None") + HOST.format(""), ()),
    ("overrides", HOST.format(""), ()),
    ("overrides", folder("/home", "AllowOverride All") + HOST.format(""), ()),
    ("overrides", folder("/", "AllowOverride All") + folder("/srv", "AllowOverride None")
     + HOST.format(""), ()),
    # A host that passes everything on looks at no folder.
    ("overrides", folder("/", "AllowOverride All")
     + HOST.format("ProxyPass / http://127.0.0.1:8000/"), ()),
    ("link-checks", folder("/srv", "Options Indexes FollowSymLinks") + HOST.format(""), ()),
    ("link-checks", folder("/srv", "Options +Indexes -MultiViews") + HOST.format(""), ()),
    ("link-checks", folder("/srv", "Options All") + HOST.format(""), ()),
    ("link-checks", folder("/", "Options None") + folder("/srv", "Options FollowSymLinks")
     + HOST.format(""), ()),
    ("link-checks", folder("/srv/other", "Options None") + HOST.format(""), ()),
    ("link-checks", "<Location /srv>\nOptions None\n</Location>\n" + HOST.format(""), ()),
    # Sections that come later, and that no path is compared with here.
    ("link-checks", folder("/srv", "Options None") + "<DirectoryMatch ^/srv/>\nOptions All\n"
     "</DirectoryMatch>\n" + HOST.format(""), ()),
    ("link-checks", folder("/srv", "Options None") + folder("/srv/*", "Options All")
     + HOST.format(""), ()),
    ("overrides", folder("/srv", "AllowOverride All") + folder("/srv/sh?p", "AllowOverride None")
     + HOST.format(""), ()),
    ("unused-modules", "<Location /s>\nSetHandler server-status\n</Location>", ("status",)),
    ("unused-modules", "UserDir public_html", ("userdir",)),
    ("unused-modules", folder("/srv", "Options +Indexes"), ("autoindex",)),
    ("unused-modules", folder("/srv", "Options MultiViews"), ("negotiation",)),
    # A `.htaccess` file may say what uses it.
    ("unused-modules", folder("/srv", "AllowOverride All"), ("autoindex",)),
    ("unused-modules", "Include ${nowhere}/x.conf", ("autoindex",)),
    ("unseen-status", "<Location /s>\nSetHandler server-status\n</Location>\nExtendedStatus On",
     ("status",)),
    ("unseen-status", "ExtendedStatus Off", ("status",)),
    ("scripts-twice", "Alias /perl/ /srv/perl/\nScriptAlias /cgi-bin/ /srv/cgi/", ("perl",)),
    ("scripts-twice", "Alias /perl/ /srv/perl/\nScriptAlias /cgi-bin/ /srv/perl/", ("alias",)),
    ("scripts-twice", "Alias /perl/ /srv/perl/\nScriptAlias /fast/ /srv/perl/\n"
     "<Location /fast/>\nSetHandler perl-script\n</Location>", ("perl",)),
    ("removed-directives", "<IfVersion < 2.3>\nNameVirtualHost *:80\n</IfVersion>", ()),
    ("removed-directives", "CacheRoot /var/cache/x", ()),
    ("order-with-space", folder("/srv", "Order deny,allow"), ()),
    ("long-cache-path", "CacheDirLevels 2\nCacheDirLength 1", ()),
    ("long-cache-path", "CacheDirLevels 10\nCacheDirLength 2", ()),
    ("compressed-twice", "AddOutputFilterByType DEFLATE text/html image/svg+xml", ()),
    ("compressed-twice", "AddOutputFilterByType INCLUDES image/png", ()),
    ("compressed-everything", "SetOutputFilter DEFLATE\nSetEnvIfNoCase Request_URI "
     r"\.(?:gif|png)$ no-gzip", ()),
    ("compressed-everything", "<Location /api>\nSetOutputFilter DEFLATE\n</Location>", ()),
    ("forced-compression", "SetEnv force-gzip 1", ()),
    ("debug-log", "LogLevel warn rewrite:warn", ()),
    ("perl-reload", "PerlModule Shop::Reload", ("perl",)),
    ("php-in-threads", "Listen 80", ("php",)),
]  # fmt: skip


@each_row(("name", "text", "modules", "words"), FIRES)
def test_what_costs_more_than_it_gives_is_told(name, text, modules, words):
    assert named(apache(text, *modules), name) == [words]


@each_row(("name", "text", "modules"), SILENT)
def test_what_is_well_and_what_is_not_known_is_not(name, text, modules):
    assert named(apache(text, *modules), name) == []


def test_php_beside_threads_is_told():
    facts = apache("Listen 80", "php", mpm="event")
    assert named(facts, "php-in-threads") == [
        "mod_php runs beside mpm_event: threads share a process, and many of PHP's extensions "
        "cannot"
    ]


def test_a_module_has_its_reason_beside_it():
    facts = apache("Listen 80", "userdir", "autoindex")
    assert evidence(facts, "unused-modules") == (
        "userdir_module, /etc/apache2/apache2.conf:3: no `UserDir` is set; "
        "autoindex_module, /etc/apache2/apache2.conf:4: no folder has `Options Indexes`"
    )


@pytest.mark.parametrize(("n", "severity"), [(1, "bad"), (20, "doubtful")])
def test_one_connection_for_each_life_is_worse_than_twenty(n, severity):
    assert [each[:2] for each in said(apache(f"MaxConnectionsPerChild {n}"))] == [
        ("short-lives", severity)
    ]


def test_hosts_with_the_same_mistake_are_one_finding():
    text = folder("/", "AllowOverride All") + HOST.format("") + HOST.format("ServerAlias www.shop")
    assert len(named(apache(text), "overrides")) == 1


@each_row(
    ("arguments", "flag"),
    [
        (("-X",), "-X"),
        (("-f", "/srv/a.conf", "-D", "ONE_PROCESS"), "-D ONE_PROCESS"),
        (("-DONE_PROCESS",), "-DONE_PROCESS"),
        (("-D", "FOREGROUND"), ""),
        (("-f", "/srv/-X"), ""),
        ((), ""),
    ],
)
def test_a_single_process_is_for_debugging(arguments, flag):
    found = named(apache("Listen 80", command=("/usr/sbin/apache2", *arguments)), "one-process")
    words = f"one process answers one request at a time: `{flag}` is for debugging"
    assert found == ([words] if flag else [])
