"""Configurations that were made for whoever reads them: one sentence, and soon."""

import time

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.apache import Apache
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm

NGINX, APACHE, PHP = Nginx(), Apache(), PhpFpm()
NGINX_TEXT = "events {{}}\nhttp {{ {} }}\n"
APACHE_TEXT = "ServerRoot /tmp\nListen 80\n<VirtualHost *:80>\n</VirtualHost>\n{}\n"
PHP_TEXT = "[global]\n{}\n[www]\nuser=nobody\nlisten=/run/x.sock\npm=static\npm.max_children=1\n"
DEFINES = "\n".join(f"Define A{n + 1} ${{A{n}}}${{A{n}}}" for n in range(40))
MACROS = "\n".join(
    f'<Macro m{n} $a>\nUse m{n + 1} "$a$a"\nUse m{n + 1} "$a$a"\n</Macro>' for n in range(40)
)
LONGEST_S = 20.0
"""CPU time of this process; of each well below a second where nothing else runs."""


CASES = [
    (NGINX, NGINX_TEXT.format("server { " * 200 + "} " * 200), "nested more than 64 deep"),
    (NGINX, NGINX_TEXT.format("include {folder}/0.inc;"), "20,000 files"),
    (NGINX, NGINX_TEXT.format("include /proc/1/fd/*; include /sys/*/*;"), None),
    (NGINX, NGINX_TEXT.format("include /proc/self/status;"), "it is the kernel's"),
    (NGINX, NGINX_TEXT.format("include " + "x" * 300 + ";"), "file name too long"),
    (NGINX, NGINX_TEXT.format("include a\0b;"), "no file can have such a name"),
    (NGINX, NGINX_TEXT.format("content_by_lua_block { " + "[[ " * 50_000 + "}"), "does not end"),
    (APACHE, APACHE_TEXT.format("Include {folder}/0.inc"), "20,000 files"),
    (APACHE, APACHE_TEXT.format("IncludeOptional /proc/1/fd/*\nIncludeOptional /sys/*"), None),
    (APACHE, APACHE_TEXT.format("Include " + "x" * 300), "file name too long"),
    (APACHE, APACHE_TEXT.format("Include {folder}/main.conf"), "included from itself"),
    (APACHE, APACHE_TEXT.format(f"Define A0 aaaa\n{DEFINES}\nTimeout ${{A40}}"), "64 KiB"),
    (APACHE, APACHE_TEXT.format(f"{MACROS}\nUse m0 xx"), "64 KiB"),
    (APACHE, APACHE_TEXT.format("<IfModule x>\n" * 5_000), None),
    (APACHE, APACHE_TEXT.format("SSLCertificateFile a\0b\nDocumentRoot /\0"), None),
    (PHP, PHP_TEXT.format("include=/proc/1/fd/*\ninclude=/dev/*"), None),
    (PHP, PHP_TEXT.format("include=/etc/" + "x" * 300), None),
    (PHP, PHP_TEXT.format("a = 'x\n" * 20_000), None),
    (PHP, PHP_TEXT.format("pm = static\n" * 20_000), None),
    (PHP, PHP_TEXT.format("a = ${x\n" * 20_000), "is not closed"),
]


@pytest.mark.parametrize(("adapter", "text", "words"), CASES)
def test_a_hostile_configuration_is_a_sentence_or_is_read(tmp_path, adapter, text, words):
    # Each of these is included twice in the one before it.
    for n in range(30):
        include = f"{tmp_path}/{n + 1}.inc"
        line = f"include {include};" if adapter is NGINX else f"Include {include}"
        (tmp_path / f"{n}.inc").write_text(f"{line}\n{line}\n")
    (tmp_path / "30.inc").write_text("")
    main = tmp_path / "main.conf"
    main.write_text(text.replace("{folder}", str(tmp_path)))
    member = Member(name="x", kind=adapter.name, main=str(main))
    began_s = time.process_time()
    if words is None:
        assert str(main) in adapter.read(member).texts
    else:
        with pytest.raises(AdapterError, match=words):
            adapter.read(member)
    assert time.process_time() - began_s < LONGEST_S
