import json

from tests.rows import each_row

from httpdyno.servers.php_fpm.in_force import (
    PhpSays,
    backlog_listed,
    ini_text,
    mapped_sizes,
    n_children_at_start,
    php_says,
    read_at_start,
    read_back,
    read_back_text,
)

MEGABYTE = 1 << 20
STATUS = {
    "opcache_enabled": True,
    "interned_strings_usage": {"buffer_size": 8 * MEGABYTE},
    "opcache_statistics": {"max_cached_keys": 16229},
    "jit": {"enabled": True, "on": True, "buffer_size": 64 * MEGABYTE - 16},
}
VALUES = {
    "opcache.enable": "1",
    "opcache.memory_consumption": "128",
    "opcache.interned_strings_buffer": "8",
    "opcache.max_accelerated_files": "10000",
    "opcache.validate_timestamps": "0",
    "opcache.jit": "tracing",
    "realpath_cache_size": "4096K",
}
MAPS = """\
7f00-8f00 r--p 00000000 08:01 5 /usr/lib/libc.so
7f5a00000000-7f5a08000000 rw-s 00000000 00:01 1590 /dev/zero (deleted)
7f5a10000000-7f5a10002000 rw-s 00000000 00:01 1591 /dev/zero (deleted)
7f5a20000000-7f5a40000000 rw-p 00000000 00:00 0
"""
TESTED = """\
[24-Nov-2026 01:35:29] NOTICE: [global]
[24-Nov-2026 01:35:29] NOTICE: \tprocess_control_timeout = 10s
[24-Nov-2026 01:35:29] NOTICE: \tsyslog.ident =
[24-Nov-2026 01:35:29] NOTICE:
[24-Nov-2026 01:35:29] NOTICE: [www]
[24-Nov-2026 01:35:29] NOTICE: \tpm = dynamic
[24-Nov-2026 01:35:29] NOTICE: \tpm.max_children = 5
[24-Nov-2026 01:35:29] NOTICE: \tpm.start_servers = 2
[24-Nov-2026 01:35:29] NOTICE: \tpm.min_spare_servers = 1
[24-Nov-2026 01:35:29] NOTICE: \tpm.max_spare_servers = 3
[24-Nov-2026 01:35:29] NOTICE: \tphp_value[x] = a = b
[24-Nov-2026 01:35:29] NOTICE: configuration file /x.conf test is successful
"""


def says(values=None, status=STATUS, mapped=(128 * MEGABYTE, 8192), *, is_told=True):
    return PhpSays(
        values={**VALUES, **(values or {})}, opcache=status, is_told=is_told, mapped_bytes=mapped
    )


@each_row(
    ("name", "found", "asked", "text"),
    [
        ("opcache.memory_consumption", says(), "128", "128"),
        # What a pool says of it is not there.
        ("opcache.memory_consumption", says({"opcache.memory_consumption": "512"}), "512", "128"),
        ("opcache.memory_consumption", says(mapped=()), "128", "128"),
        ("opcache.max_accelerated_files", says(), "10000", "10000"),
        (
            "opcache.max_accelerated_files",
            says({"opcache.max_accelerated_files": "100000"}),
            "100000",
            "room for 16229",
        ),
        ("opcache.interned_strings_buffer", says(), "16", "8"),
        ("opcache.jit", says(), "tracing/64M", "tracing/64M"),
        ("opcache.jit", says(), "off", "tracing/64M"),
        ("opcache.jit", says({"opcache.jit": "function"}), "tracing/64M", "function/64M"),
        ("opcache.jit", says(status={**STATUS, "jit": {"on": False}}), "tracing/64M", "off"),
        ("opcache.jit", says(status=None), "tracing/64M", "off"),
        ("opcache.enable", says(), "true", "true"),
        ("opcache.enable", says(status=None), "true", "false"),
        ("opcache.enable", says(status=None, is_told=False), "true", "true"),
        ("opcache.validate_timestamps", says(), "true", "false"),
        ("realpath_cache_size", says(), "4M", "4M"),
        ("realpath_cache_size", says(), "8M", "4096K"),
        ("zend.assertions", says(), "1", "not set"),
    ],
)
def test_opcache_is_believed_about_what_it_laid_out_and_ini_get_about_the_rest(
    name, found, asked, text
):
    assert ini_text(name, found, asked) == text


def test_what_the_script_prints_is_found_among_what_others_print():
    told = json.dumps({"values": {"opcache.enable": "1", "x": False, "y": None}, "opcache": STATUS})
    found = php_says(f"<b>from a file of theirs</b>\nhttpdyno:{told}\n</html>")
    assert found is not None
    assert (found.values, found.opcache) == ({"opcache.enable": "1", "y": ""}, STATUS)


@each_row("body", ["", "File not found.\n", "httpdyno:", "httpdyno:[]", 'httpdyno:{"values": 3}'])
def test_anything_else_is_no_answer(body):
    assert php_says(body) is None


def test_opcache_that_may_not_be_asked_is_not_taken_for_off():
    told = {"values": {"opcache.enable": "1", "opcache.restrict_api": "/srv"}, "opcache": False}
    found = php_says(f"httpdyno:{json.dumps(told)}\n")
    assert found is not None
    assert ini_text("opcache.enable", found, "true") == "true"


def test_shared_memory_is_told_from_private():
    assert mapped_sizes(MAPS) == {128 * MEGABYTE, 8192}


def test_the_servers_own_test_is_read_by_sections():
    found = read_back(TESTED)
    assert found["www"]["php_value[x]"] == "a = b"
    assert read_back_text("pm.spare_servers", found, "www") == "2/1/3"
    assert read_back_text("process_control_timeout", found, "www") == "10"
    assert read_back_text("pm.max_requests", found, "www") == ""


@each_row(("manager", "n_children"), [("static", 5), ("dynamic", 2), ("ondemand", 0)])
def test_how_many_children_there_are_before_the_first_request(manager, n_children):
    assert n_children_at_start({**read_back(TESTED)["www"], "pm": manager}) == n_children


@each_row(
    ("address", "backlog"),
    [
        ("unix:/run/php/a.sock", 77),
        ("unix:/run/php/b.sock", None),
        ("127.0.0.1:9000", 511),
        ("0.0.0.0:9001", 128),
    ],
)
def test_the_kernels_list_of_sockets_says_the_backlog(address, backlog):
    listing = (
        "u_str LISTEN 0      77   /run/php/a.sock 52720 * 0\n"
        "u_str ESTAB  0      9    /run/php/b.sock\n"
        "tcp   LISTEN 0      511  127.0.0.1:9000  0.0.0.0:*\n"
        "tcp   LISTEN 0      128  *:9001  *:*\n"
        "\n"
    )
    listing = listing.replace("u_str ESTAB  0      9    /run/php/b.sock\n", "short line\n")
    assert backlog_listed(listing, address) == backlog


LISTED = """phpinfo()
opcache.enable => On => On
opcache.jit => tracing => tracing
opcache.jit_buffer_size => 64M => 64M
opcache.memory_consumption => 128 => 128
realpath_cache_ttl => 120 => 120
error_log => no value => no value
"""


@each_row(
    ("name", "asked", "text"),
    [
        ("opcache.enable", "true", "false"),
        ("opcache.jit", "tracing/64M", "tracing/64M"),
        ("opcache.memory_consumption", "64", "128"),
        ("realpath_cache_ttl", "30", "30"),
    ],
)
def test_where_no_script_runs_the_files_that_php_reads_are_believed(name, asked, text):
    pool = {
        "php_admin_value[opcache.enable]": "0",
        "php_admin_value[opcache.memory_consumption]": "64",
        "php_value[realpath_cache_ttl]": "30",
    }
    assert ini_text(name, read_at_start(LISTED, pool), asked) == text
