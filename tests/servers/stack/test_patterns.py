"""What each kind of server includes by wildcards, and where its pages are."""

import pytest

from httpdyno.model import Member
from httpdyno.servers.apache import Apache
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.sandbox.overlay import closed_folders

NGINX = """\
events {}
http {
  include conf.d/*.conf;
  include TOP/one.conf;
  include TOP/sites/*/nginx.conf;
  root html;
  server { root TOP/www; location /$x { alias TOP/$x; } location /a { alias TOP/a; } }
}
"""
APACHE = """\
ServerRoot "TOP"
IncludeOptional conf.d/*.conf
Include TOP/one.conf
Include TOP/all
DocumentRoot "TOP/www"
Alias /a a
"""
FPM = (
    "[global]\ninclude=TOP/conf.d/*.conf\ninclude=TOP/one.conf\n[www]\nlisten = 9000\npm = static\n"
)


@pytest.fixture
def top(tmp_path):
    for name in ("conf.d", "sites/x", "all", "www", "a"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("one.conf", "conf.d/a.conf", "sites/x/nginx.conf", "all/x"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("adapter", "text", "patterns", "served"),
    [
        (Nginx(), NGINX, ["conf.d/*.conf", "sites/*/nginx.conf"], ["www", "a"]),
        (Apache(), APACHE, ["conf.d/*.conf", "all/"], ["www", "a"]),
        (PhpFpm(), FPM, ["conf.d/*.conf"], []),
    ],
    ids=["nginx", "apache", "php-fpm"],
)
def test_a_configuration_says_its_patterns_and_its_pages(top, adapter, text, patterns, served):
    main = top / "main.conf"
    main.write_text(text.replace("TOP", str(top)))
    files = adapter.read(Member(name="x", kind=adapter.name, main=str(main)))
    own = [path for path in files.patterns if path.startswith(str(top))]
    assert own == [f"{top}/{each}" for each in patterns]
    assert list(files.served) == [f"{top}/{each}" for each in served]


@pytest.mark.parametrize(
    ("patterns", "files", "kept", "hidden"),
    [
        (["conf.d/*.conf"], ["conf.d/a.conf"], ["conf.d/a.conf", "conf.d/mime"], ["conf.d/b.conf"]),
        # Nothing was there, or all of it was taken away: the folder stays as it was read.
        (["conf.d/*.conf"], [], ["conf.d/mime"], ["conf.d/a.conf"]),
        (["conf.d/[!a]*"], ["conf.d/b"], ["conf.d/a", "conf.d/b"], ["conf.d/c"]),
        (["all/"], ["all/x"], ["all/x"], ["all/y"]),
        (["sites/*/n.conf"], ["sites/x/n.conf"], ["sites/x"], ["sites/y"]),
        # What matches may be a folder, which stands for all below it.
        (["sites/*"], ["sites/x/n.conf"], ["sites/x", "sites/x/n.conf"], ["sites/x/m.conf"]),
        # Of several patterns any includes.
        (["conf.d/*.a", "conf.d/*.b"], [], ["conf.d/x.c"], ["conf.d/x.a", "conf.d/x.b"]),
    ],
)
def test_of_a_folder_that_is_included_only_what_was_read_and_all_else_is_shown(
    top, patterns, files, kept, hidden
):
    patterns, files = ([f"{top}/{each}" for each in texts] for texts in (patterns, files))
    closed = closed_folders(patterns, files)
    shown = {}
    for path in (*kept, *hidden):
        folder, _, name = f"{top}/{path}".rpartition("/")
        shown[path] = closed[folder](name)
    assert shown == dict.fromkeys(kept, True) | dict.fromkeys(hidden, False)
