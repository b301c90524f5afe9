"""Lines of error logs as Apache, nginx, php-fpm, Python and others write them."""

import pytest
from tests.rows import each_row

from httpdyno.telemetry.log import (
    MOST_KINDS,
    continued,
    form_of,
    level_of,
    log_lines,
    said,
    together,
)

APACHE = (
    "[Tue Nov 24 10:00:01.123456 2026] [mpm_prefork:error] [pid 812] AH00161: server reached "
    "MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting"
)
NGINX = (
    '2026/11/24 10:00:01 [error] 12#13: *45 open() "/srv/a.png" failed (2: No such file or '
    'directory), client: 127.0.0.1, server: _, request: "GET /a.png HTTP/1.1"'
)
FPM = "[24-Nov-2026 10:00:01] WARNING: [pool www] server reached pm.max_children setting (5)"
GUNICORN = "[2026-11-24 10:00:01 +0000] [812] [CRITICAL] WORKER TIMEOUT (pid:813)"
UVICORN = 'INFO:     127.0.0.1:40112 - "GET /error HTTP/1.1" 200 OK'
JSON = '{"level":"error","ts":1764000000.5,"msg":"no answer","upstream":"db"}'


@pytest.mark.parametrize(
    ("line", "level", "what"),
    [
        (APACHE, "error", "AH00161: server reached"),
        (NGINX, "error", "open() "),
        (FPM, "warning", "[pool www] server reached pm.max_children"),
        (GUNICORN, "critical", "WORKER TIMEOUT"),
        (UVICORN, "note", "127.0.0.1"),
        (JSON, "error", "{"),
        ("[Tue Nov 24 10:00:01 2026] [notice] Apache configured", "note", "Apache configured"),
        ("2026-11-24T10:00:01Z WARN slow query", "warning", "slow query"),
        ("time=10:00 level=warn msg=late", "warning", "time="),
        ("PHP Fatal error:  Out of memory in /a.php on line 3", "critical", "PHP Fatal"),
        ("ValueError: no such shop", "error", "ValueError"),
        ("panic: runtime error", "critical", "panic"),
        ("GET /ERROR and no error of ours", "", "GET /ERROR"),
        ("[1, 2]", "", "[1, 2]"),
    ],
)
def test_a_line_has_its_level_and_what_it_says(line, level, what):
    assert level_of(line) == level
    assert said(line).startswith(what)


@each_row(
    ("one", "other"),
    [
        (NGINX, NGINX.replace("a.png", "b.png").replace("*45", "*46").replace("12#13", "9#9")),
        (GUNICORN, GUNICORN.replace("813", "9").replace("10:00:01", "11:12:13")),
        (APACHE, APACHE.replace("812", "99999")),
        ("at 0x7f3a90 of run/0001-c1-s0", "at 0x1b of run/0042-c3-s17"),
        ("slow by 1764000000.5 s", "slow by 0.25 s"),
        ("request 3f2b8c1e-77aa-4c1d: gone", "request 0011ffee-12ab-ffff: gone"),
    ],
)
def test_numbers_and_quotes_make_no_other_kind(one, other):
    assert one != other
    assert form_of(one) == form_of(other)


def test_codes_and_words_do():
    assert form_of(APACHE).startswith("AH00161: server reached MaxRequestWorkers")
    assert form_of(APACHE) != form_of(APACHE.replace("AH00161", "AH00484"))
    assert form_of(JSON) != form_of(JSON.replace("no answer", "no room"))


def test_lines_of_a_kind_are_counted_and_the_first_is_kept():
    lines = [GUNICORN, NGINX, NGINX.replace("a.png", "b.png"), "Traceback (most", "  File x", ""]
    found = log_lines(["\n".join([*lines, UVICORN, ""]).encode()])
    assert found.n_lines == 5
    told = [(kind.level, kind.count) for kind in found.kinds]
    assert told == [("critical", 1), ("error", 2), ("error", 1), ("note", 1)]
    assert found.kinds[1].example == NGINX


def test_of_many_kinds_the_worst_stay():
    words = [f"INFO: {chr(97 + n)} went well" for n in range(20)]
    found = log_lines(["\n".join([*words, "ERROR: it did not"]).encode()])
    assert (found.n_lines, len(found.kinds)) == (21, MOST_KINDS)
    assert found.kinds[0].level == "error"


def test_of_lines_that_are_all_different_the_first_are_told_apart_and_all_are_counted():
    words = [f"ERROR: {chr(0x4E00 + n % 5000)} {chr(0x4E00 + n // 5000)}" for n in range(9000)]
    found = log_lines(["\n".join(words).encode()])
    assert (found.n_lines, len(found.kinds)) == (9000, MOST_KINDS)
    assert found.kinds[0].example == words[0]
    assert found.unread_bytes == 5000 * len(words[0].encode())


def test_what_is_kept_is_short_steers_no_terminal_and_holds_no_password_of_a_url():
    line = "\x1b[31mERROR\x1b[0m: \x07 http://me:hunter2@db/ " + "x" * 1000
    [kind] = log_lines([line.encode() + b"\xff\n"]).kinds
    assert kind.level == "error"
    assert "hunter2" not in kind.example + kind.form
    assert "\x07" not in kind.example
    assert "\x1b" not in kind.example
    assert max(len(kind.example), len(kind.form)) == 300


def test_logs_of_starts_add_up():
    one = log_lines([APACHE.encode()])
    none = log_lines([])
    both = together([one, none, log_lines([f"{APACHE}\n{FPM}\n{APACHE}".encode()])])
    assert both is not None
    assert (both.n_lines, both.n_starts) == (4, 3)
    assert [(kind.count, kind.n_starts) for kind in both.kinds] == [(3, 2), (1, 1)]
    assert together([]) is None


def test_what_a_log_goes_on_with_is_of_the_same_start():
    first, more = log_lines([f"{APACHE}\n".encode()]), log_lines([f"{APACHE}\n{FPM}\n".encode()])
    whole = continued(first, more)
    assert whole is not None
    assert (whole.n_lines, whole.n_starts) == (3, 1)
    assert [(kind.count, kind.n_starts) for kind in whole.kinds] == [(2, 1), (1, 1)]
    assert continued(None, first) == continued(first, None) == first
