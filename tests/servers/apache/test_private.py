"""Addresses and paths of a copy that sees everybody's: what passes on, and what macros say."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.rows import each_row
from tests.servers.apache.sample import EVENT, MAIN, files, surveyed
from tests.servers.nginx.seats import OpenSeat

from httpdyno.errors import AdapterError
from httpdyno.servers.apache.change import private_edits
from httpdyno.servers.stack.snapshot import edited_files

SEAT = OpenSeat(
    folder=Path("/seat"),
    ports={
        "0.0.0.0:80": "127.0.0.1:20001",
        "127.0.0.1:8000": "127.0.0.1:20002",
        "localhost:80": "127.0.0.1:20003",
        "unix:/run/php.sock": "unix:/seat/u/0.sock",
    },
)
"""Its walls are of the test's own: an address that it does not know stays."""


def rewritten(text, seat=SEAT):
    before = files(EVENT + text)
    after = {
        **before.texts,
        **edited_files(before.texts, private_edits(surveyed(before), before, seat)),
    }
    return after[MAIN].decode().removeprefix(EVENT)


@each_row(
    ("line", "new"),
    [
        ("ProxyPass / http://127.0.0.1:8000/", "ProxyPass / http://127.0.0.1:20002/"),
        (
            'ProxyPass /a "http://localhost/" retry=0',
            'ProxyPass /a "http://127.0.0.1:20003/" retry=0',
        ),
        ("ProxyPass /static !", "ProxyPass /static !"),
        ("ProxyPass /app balancer://app", "ProxyPass /app balancer://app"),
        (
            "ProxyPassMatch ^(/.*)$ http://127.0.0.1:8000$1",
            "ProxyPassMatch ^(/.*)$ http://127.0.0.1:20002$1",
        ),
        (
            'SetHandler "proxy:unix:/run/php.sock|fcgi://localhost"',
            'SetHandler "proxy:unix:/seat/u/0.sock|fcgi://localhost"',
        ),
        ("SetHandler proxy:fcgi://127.0.0.1:8000", "SetHandler proxy:fcgi://127.0.0.1:20002"),
        (
            "RewriteRule ^(.*)$ http://127.0.0.1:8000$1 [QSA,P]",
            "RewriteRule ^(.*)$ http://127.0.0.1:20002$1 [QSA,P]",
        ),
        (
            "RewriteRule ^(.*)$ http://127.0.0.1:8000$1 [R]",
            "RewriteRule ^(.*)$ http://127.0.0.1:8000$1 [R]",
        ),
        (
            "RewriteRule ^(.*)$ http://%{HTTP_HOST}/x [P]",
            "RewriteRule ^(.*)$ http://%{HTTP_HOST}/x [P]",
        ),
        (
            "Define at localhost\nProxyPass / http://${at}/",
            "Define at localhost\nProxyPass / http://127.0.0.1:20003/",
        ),
        (
            "RewriteRule ^/go$ http://localhost/to?u=http://127.0.0.1:8000/ [P,E=X:http://localhost/]",
            "RewriteRule ^/go$ http://127.0.0.1:20003/to?u=http://127.0.0.1:8000/ "
            "[P,E=X:http://localhost/]",
        ),
        (
            "ProxyPass /to/http://localhost/ http://127.0.0.1:8000/http://localhost/",
            "ProxyPass /to/http://localhost/ http://127.0.0.1:20002/http://localhost/",
        ),
        ("<Proxy http://127.0.0.1:8000/>\n</Proxy>", "<Proxy http://127.0.0.1:20002/>\n</Proxy>"),
        ("RemoteIPProxyProtocol On\nKeepAlive Off", "\nKeepAlive Off"),
        ("ProxyPass / \\\n  http://localhost/", "ProxyPass \\\n/   http://127.0.0.1:20003/"),
    ],
)
def test_what_is_passed_on_goes_to_the_copys_addresses(line, new):
    assert rewritten(f"{line}\n") == f"{new}\n"


def test_in_answers_only_what_is_passed_to_is_another_address():
    passing = "ProxyPass / http://localhost/\n"
    reverse = "ProxyPassReverse / http://{}/\n"
    text = rewritten(passing + reverse.format("localhost") + reverse.format("127.0.0.1:8000"))
    assert text == (
        "ProxyPass / http://127.0.0.1:20003/\n"
        + reverse.format("127.0.0.1:20003")
        + reverse.format("127.0.0.1:8000")
    )


def macro(line, *uses):
    return f"<Macro site $name>\n  {line}\n</Macro>\n" + "".join(f"Use site {u}\n" for u in uses)


@each_row(
    ("line", "uses", "new"),
    [
        ("CustomLog /log/$name.log common", ["a", "b"], "CustomLog /seat/log/$name.log common"),
        ("ErrorLog logs/$name.log", ["a"], "ErrorLog /seat/etc/apache2/logs/$name.log"),
        ("ErrorLog $name", ["/log/a", "/log/b"], "ErrorLog /seat$name"),
        ("ErrorLog ${dir}/$name", ["a"], "ErrorLog /seat${dir}/$name"),
        (
            "ErrorLog $name",
            ['"|/bin/a"', '"|/bin/b"'],
            "ErrorLog /seat/etc/apache2/macro-site-errorlog.log",
        ),
        ("ErrorLog $name", [], "ErrorLog $name"),
        ("ProxyPass /$name http://localhost/", ["a"], "ProxyPass /$name http://127.0.0.1:20003/"),
        ("ProxyPass / http://$name/", ["10.0.0.5"], "ProxyPass / http://$name/"),
        ("Listen 80", ["a"], "Listen 127.0.0.1:20001"),
    ],
)
def test_a_macro_is_edited_where_one_text_is_right_for_all_uses(line, uses, new):
    text = "ServerRoot /etc/apache2\nDefine dir /log\n"
    found = rewritten(text + macro(line, *uses))
    assert found == text + macro(new, *uses)


@each_row(
    ("line", "uses"),
    [
        ("CustomLog $name common", ["/log/a", "logs/b"]),
        ("CustomLog $name common", ["/log/a", '"|/bin/b"']),
        ("ProxyPass / http://$name/", ["localhost"]),
        ("Listen $name", ["80"]),
        ("<VirtualHost *:$name>\n  ServerName a\n  </VirtualHost>", ["80"]),
    ],
)
def test_a_macro_that_no_edit_is_right_for_is_named(line, uses):
    with pytest.raises(
        AdapterError,
        match=r"line \d+ of `/etc/apache2/apache2.conf`, in the macro `site`: .* behind a wall",
    ) as said:
        rewritten(macro(line, *uses))
    assert "--isolation cell" in said.value.hint


def test_fastcgi_is_refused_behind_a_wall_alone():
    text = "LoadModule fcgid_module m/mod_fcgid.so\nFcgidMaxProcesses 4\n"
    with pytest.raises(AdapterError, match=r"mod_fcgid .* in /dev/shm") as said:
        rewritten(text, replace(SEAT, kind="wall"))
    assert "--isolation cell" in said.value.hint
    assert "FcgidMaxProcesses 4" in rewritten(text)


def test_balancers_are_refused_behind_a_wall_alone():
    module = "LoadModule slotmem_shm_module m/mod_slotmem_shm.so\n"
    text = f"{module}<Proxy balancer://app>\nBalancerMember http://localhost\n</Proxy>\n"
    with pytest.raises(AdapterError, match=r"balancers \(line \d+ of `.*`\) share in /dev/shm"):
        rewritten(text, replace(SEAT, kind="wall"))
    assert "BalancerMember http://127.0.0.1:20003" in rewritten(text)
