"""Which compressed answers of Apache say `Vary`, beside what the rule says of them."""

import shutil
import urllib.request
from pathlib import Path

import pytest
from tests.advice.rules.told import apache, named
from tests.conftest import PROGRAM_PATH
from tests.real.foreground import free_port, started_in

pytestmark = pytest.mark.real_server("apache2")

MODULES = Path("/usr/lib/apache2/modules")
LOADED = ("authz_core", "dir", "mime", "env", "deflate", "filter", "headers", "rewrite")
MAIN = """
ServerRoot {folder}
ServerName shop.example
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex posixsem
ErrorLog {folder}/error.log
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
{loads}
TypesConfig /etc/mime.types
Listen 127.0.0.1:{port}
User nobody
Group nogroup
DocumentRoot {folder}/docs
<Directory {folder}/docs>
Require all granted
</Directory>
"""
DEFLATED = "AddOutputFilterByType DEFLATE text/html\n"
CHOSEN = (
    "RewriteEngine On\nRewriteCond %{HTTP:Accept-Encoding} gzip\n"
    "RewriteRule ^/page\\.html$ /page.html.gz [E=no-gzip:1,T=text/html]\n"
)


@pytest.mark.parametrize(
    ("text", "with_gzip", "without"),
    [
        (DEFLATED, True, True),
        (DEFLATED + "Header unset Vary\n", False, False),
        (DEFLATED + "SetEnv force-no-vary 1\n", False, False),
        (CHOSEN, True, False),
        (CHOSEN + "Header merge Vary Accept-Encoding\n", True, True),
        (DEFLATED + CHOSEN, True, True),
    ],
)
def test_the_rule_says_what_answers_say(text, with_gzip, without, own_folders):
    program = shutil.which("apache2", path=PROGRAM_PATH)
    assert program
    docs = own_folders / "docs"
    docs.mkdir()
    for name in ("page.html", "page.html.gz"):
        (docs / name).write_text("hello " * 200)
    port, main = free_port(), own_folders / "apache.conf"
    loads = "\n".join(f"LoadModule {each}_module {MODULES}/mod_{each}.so" for each in LOADED)
    main.write_text(MAIN.format(folder=own_folders, modules=MODULES, loads=loads, port=port) + text)
    with started_in(own_folders) as start:
        start([program, "-f", str(main), "-D", "FOREGROUND"], port)
        said = [_varies(port, encoding) for encoding in ("gzip", "identity")]
    assert said == [with_gzip, without]
    assert bool(named(apache(text, *LOADED), "no-vary")) is not all(said)


def _varies(port, encoding):
    url = f"http://127.0.0.1:{port}/page.html"
    request = urllib.request.Request(url, headers={"Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return "accept-encoding" in (answer.headers["Vary"] or "").lower()
