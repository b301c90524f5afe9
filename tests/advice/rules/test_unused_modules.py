"""Which modules of Apache are said to be used by nothing, and where they are loaded."""

from tests.advice.rules.told import APACHE, apache, evidence, named
from tests.rows import each_row

from httpdyno.advice.rules.apache_module import USES
from httpdyno.model import LoadedModule

RULE = "unused-modules"
UNUSED = "loaded, and used by nothing here: "
USED = [
    ("dav", "<Location /files>\nDav On\n</Location>"),
    ("dav_fs", "<Location /files>\nDav filesystem\n</Location>"),
    ("cgi", "ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/"),
    ("cgid", "<Directory /srv/cgi>\nSetHandler cgi-script\n</Directory>"),
    ("proxy", "ProxyPass / http://127.0.0.1:8000/"),
    ("proxy", 'SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"'),
    ("proxy", "RewriteRule ^/(.*) http://127.0.0.1:8000/$1 [L,P]"),
    ("proxy_http", "ProxyPass / http://127.0.0.1:8000/"),
    # What it passes on to is told by the request.
    ("proxy_http", "RewriteRule ^/(.*) %{ENV:to}/$1 [P]"),
    ("proxy_ftp", "ProxyRequests On"),
    ("proxy_fcgi", 'SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"'),
    ("proxy_balancer", "ProxyPass / balancer://shop/"),
    ("lbmethod_byrequests", "<Proxy balancer://shop>\nProxySet lbmethod=byrequests\n</Proxy>"),
    ("include", "<Directory /srv>\nOptions +Includes\n</Directory>"),
    ("deflate", "AddOutputFilterByType DEFLATE text/html"),
    ("filter", "AddOutputFilterByType DEFLATE text/html"),
    ("substitute", "AddOutputFilterByType SUBSTITUTE text/html"),
    ("setenvif", 'BrowserMatch "MSIE" nokeepalive'),
    ("rewrite", "RewriteEngine On"),
    ("headers", "Header set X-A b"),
    # Pages that a server parses may have `exec`, which is mod_cgi's.
    ("cgid", "AddOutputFilter INCLUDES .shtml"),
    ("perl", "<Location /asp>\nSetHandler perl-script\n</Location>"),
    ("perl", "<Perl>\n$KeepAlive = 'Off';\n</Perl>"),
    # As Apache's own dump has such a section.
    ("perl", "Perl $KeepAlive = 'Off';"),
    ("php", "<FilesMatch x>\nSetHandler application/x-httpd-php\n</FilesMatch>"),
    ("wsgi", "WSGIScriptAlias / /srv/shop.wsgi"),
    ("fcgid", "AddHandler fcgid-script .fcgi"),
]
UNNAMED = [
    # Its lock database is a setting of it, and serves nobody.
    ("dav_fs", "DAVLockDB /var/lock/DAVLock"),
    ("cgid", "ScriptSock /run/cgisock"),
    ("proxy_fcgi", "ProxyPass / http://127.0.0.1:8000/"),
    ("proxy_http", 'SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"'),
    ("proxy_balancer", "ProxyPass / http://127.0.0.1:8000/"),
    ("cache", 'Header set Cache-Control "no-cache"'),
    ("env", "Listen 80"),
    ("perl", "Listen 80"),
    ("php", "<FilesMatch x>\nSetHandler proxy:unix:/run/php.sock|fcgi://localhost\n</FilesMatch>"),
    ("fcgid", "FcgidConnectTimeout 20"),
]


@each_row(("module", "text"), USED)
def test_what_something_names_is_used(module, text):
    assert named(apache(text, module), RULE) == []


@each_row(("module", "text"), UNNAMED)
def test_what_nothing_names_is_told_with_its_line(module, text):
    facts = apache(text, module)
    assert named(facts, RULE) == [f"{UNUSED}{module}_module"]
    # Behind the text and the module of the pool.
    at = f"{APACHE}:{len(text.splitlines()) + 2}"
    assert evidence(facts, RULE) == at


@each_row(
    "module",
    [
        "mime",
        "dir",
        "reqtimeout",
        "unique_id",
        "authz_core",
        "authz_host",
        "socache_shmcb",
        "http2",
    ],
)
def test_what_acts_unasked_or_guards_is_never_told(module):
    assert module not in USES
    assert named(apache("Listen 80", module), RULE) == []


@each_row(
    ("modules", "told"),
    [
        # `a2dismod` refuses to take out what another one needs, or Apache would not start.
        (("env", "ratelimit"), ["env_module", "ratelimit_module"]),
        (("setenvif", "ssl"), []),
        (("dav", "dav_svn"), []),
        (("dav", "dav_fs"), ["dav_module", "dav_fs_module"]),
        (("proxy", "proxy_balancer", "lbmethod_new", "alias"), []),
    ],
)
def test_what_a_module_needs_that_stays_is_not_told(modules, told):
    facts = apache("Listen 80", *modules)
    found = [name.removeprefix(UNUSED) for name in named(facts, RULE)]
    assert found == ([", ".join(told)] if told else [])


def test_of_several_each_has_its_line():
    facts = apache("Listen 80", "dav", "status")
    assert evidence(facts, RULE) == (
        f"status_module, {APACHE}:4: nothing has the handler `server-status`; "
        f"dav_module, {APACHE}:3"
    )


def test_where_other_files_may_name_it_nothing_is_told():
    text = "<Directory /srv>\nAllowOverride All\n</Directory>"
    assert named(apache(text, "dav", "env", "rewrite"), RULE) == []
    text = "<Directory /srv>\nAllowOverride None\nAllowOverrideList Redirect\n</Directory>"
    assert named(apache(text, "alias"), RULE) == []
    assert named(apache(text.replace("Redirect", "None"), "alias"), RULE) != []
    assert named(apache("Include ${nowhere}/x.conf", "dav"), RULE) == []


def test_the_lines_that_load_modules_are_in_the_survey():
    survey = apache("Listen 80", "dav", mpm="event").survey
    loaded = {each.name: each for each in survey.loaded}
    assert set(loaded) == {"mpm_event_module", "dav_module"}
    dav = loaded["dav_module"]
    assert isinstance(dav, LoadedModule)
    assert (dav.origin.file, dav.origin.line) == (APACHE, 3)
    assert dav.origin.end - dav.origin.start == len("dav_module m/mod_dav.so")
