"""What a rule calls refused is refused by the server's own test, and only that."""

import subprocess

import pytest
from tests.advice.rules.told import apache, named, php_fpm

from httpdyno.advice.rules.apache import IGNORED, REMOVED

pytestmark = pytest.mark.real_server("apache2", "php-fpm8.2")

MODULES = "/usr/lib/apache2/modules"
LOADED = (
    *("authz_core", "access_compat", "authz_host", "cache", "cache_disk", "rewrite"),
    "mpm_prefork",
)
POOL = """[global]
error_log = {folder}/error.log
[www]
user = www-data
listen = {folder}/php.sock
pm = dynamic
pm.max_children = 5
pm.start_servers = {}
pm.min_spare_servers = {}
pm.max_spare_servers = {}
"""


def own_test(folder, text):
    """Return Apache's exit code and what it says of a configuration."""
    main = folder / "apache2.conf"
    loads = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in LOADED]
    own = [
        f"ServerRoot {folder}",
        f"ErrorLog {folder}/e",
        f"PidFile {folder}/p",
        "Listen 127.0.0.1:9",
    ]
    own += [f"DefaultRuntimeDir {folder}", "ServerName shop.example"]
    main.write_text("\n".join([*loads, *own, text, ""]))
    run = subprocess.run(
        ["apache2", "-t", "-f", str(main)], capture_output=True, text=True, check=False
    )
    return run.returncode, run.stderr


@pytest.mark.parametrize(
    ("rule", "text", "is_refused"),
    [
        ("order-with-space", "<Directory /srv>\nOrder deny, allow\n</Directory>", True),
        ("order-with-space", "<Directory /srv>\nOrder deny,allow\n</Directory>", False),
        ("long-cache-path", "CacheDirLevels 5\nCacheDirLength 5", True),
        ("long-cache-path", "CacheDirLevels 11", True),
        ("long-cache-path", "CacheDirLevels 10", False),
        *(("removed-directives", f"{name} x", True) for name in REMOVED),
    ],
)
def test_apache_refuses_what_the_rule_names(rule, text, is_refused, own_folders):
    code, words = own_test(own_folders, text)
    assert (code != 0) is is_refused, words
    assert bool(named(apache(text), rule)) is is_refused


@pytest.mark.parametrize("name", IGNORED)
def test_apache_takes_what_does_nothing_and_says_so(name, own_folders):
    code, words = own_test(own_folders, f"{name} *:80")
    assert code == 0
    assert "has no effect" in words


def test_apache_cuts_the_workers_that_the_rule_says(own_folders):
    code, words = own_test(own_folders, "MaxRequestWorkers 400")
    assert code == 0
    assert "decreasing MaxRequestWorkers to 256" in words
    assert "is cut to 256" in named(apache("MaxRequestWorkers 400"), "clipped-workers")[0]


@pytest.mark.parametrize(
    ("numbers", "is_refused"),
    [((2, 3, 1), True), ((2, 1, 9), True), ((5, 1, 3), True), ((2, 1, 3), False)],
)
def test_php_fpm_refuses_what_the_rule_names(numbers, is_refused, own_folders):
    main = own_folders / "php-fpm.conf"
    main.write_text(POOL.format(*numbers, folder=own_folders))
    command = ["php-fpm8.2", "-t", "-y", str(main)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode != 0) is is_refused, run.stderr
    lines = [line for line in main.read_text().splitlines() if line.startswith("pm")]
    assert bool(named(php_fpm("\n".join(lines)), "php-inverted-spares")) is is_refused
