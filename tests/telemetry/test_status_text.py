"""Status pages as servers write them, and what is no status page."""

from dataclasses import replace

from tests.rows import each_row

from httpdyno.reason import because
from httpdyno.telemetry.status import Status, requests_per_s, scoreboard, status

APACHE = """127.0.0.1
ServerVersion: Apache/2.4.57 (Debian)
ServerMPM: prefork
Server Built: 2023-04-13T03:26:51
CurrentTime: Tuesday, 24-Nov-2026 17:24:05 UTC
ServerUptimeSeconds: 95
ServerUptime: 1 minute 35 seconds
Load1: 0.50
Total Accesses: 1204
Total kBytes: 310
Uptime: 95
ReqPerSec: 12.6737
BusyWorkers: 4
IdleWorkers: 2
Scoreboard: _WKR_WG....
"""
APACHE_WITHOUT_COUNTS = "BusyWorkers: 1\nIdleWorkers: 1\nScoreboard: _W\n"
APACHE_PAGE = """<html><head><title>Apache Status</title></head><body>
<h1>Apache Server Status for localhost (via 127.0.0.1)</h1>
<dl><dt>Server uptime:  1 minute 35 seconds</dt>
<dt>Total accesses: 1204 - Total Traffic: 310 kB - Total Duration: 5</dt>
</dl><pre>_WKR_WG
....
</pre>
<table border="0"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th></tr>

<tr><td><b>0-0</b></td><td>312</td><td>0/12/40</td><td>_
</td><td>0.00</td></tr>
<tr><td><b>1-0</b></td><td>-</td><td>0/0/7</td><td>.
</td><td>0.00</td></tr>
<tr><td><b>2-1</b></td><td>313</td><td>1/5/5</td><td><b>W</b>
</td><td>0.00</td></tr>
</table></body></html>"""
NGINX = (
    "Active connections: 291 \n"
    "server accepts handled requests\n"
    " 16630948 16630948 31070465 \n"
    "Reading: 6 Writing: 179 Waiting: 106 \n"
)
NGINX_WITH_TIME = NGINX.replace("requests\n", "requests request_time\n").replace(
    "31070465 \n", "31070465 5 \n"
)
PHP_FPM = """pool:                 www
process manager:      static
start time:           24/Nov/2026:17:24:05 +0000
start since:          61
accepted conn:        42
listen queue:         3
max listen queue:     7
listen queue len:     511
idle processes:       1
active processes:     4
total processes:      5
max active processes: 5
max children reached: 2
slow requests:        0

************************
pid:                  77
state:                Idle
requests:             9
"""
PHP_FPM_JSON = (
    '{"pool":"www","process manager":"static","start time":1700000000,"start since":61,'
    '"accepted conn":42,"listen queue":3,"max listen queue":7,"listen queue len":511,'
    '"idle processes":1,"active processes":4,"total processes":5,"max active processes":5,'
    '"max children reached":2,"slow requests":0}'
)
FPM = Status(
    server="php-fpm",
    of="processes",
    states={"active": 4, "idle": 1},
    answering="active",
    n_requests=42,
    uptime_s=61,
    remarks=(
        because("telemetry.in_queue", n=3),
        because("telemetry.all_busy", n=2),
        because("telemetry.slow_requests", n=0),
    ),
)
STUB = Status(
    server="nginx",
    of="connections",
    states={"reading": 6, "writing": 179, "waiting": 106},
    answering="writing",
    n_requests=31070465,
    uptime_s=None,
)
BOARD = Status(
    server="Apache",
    of="workers",
    states={
        "_ waiting": 2,
        "R reading": 1,
        "W answering": 2,
        "K keep-alive": 1,
        "G ending gracefully": 1,
    },
    answering="W answering",
    n_requests=1204,
    uptime_s=95,
    remarks=(because("telemetry.places_free", n=4),),
)
UNCOUNTED = replace(
    BOARD,
    states={"_ waiting": 1, "W answering": 1},
    n_requests=None,
    uptime_s=None,
    remarks=(),
)
PAGE_WITHOUT = replace(BOARD, n_requests=None, uptime_s=None)


@each_row(
    ("text", "said"),
    [
        (APACHE, BOARD),
        (APACHE_WITHOUT_COUNTS, UNCOUNTED),
        (NGINX, STUB),
        (NGINX_WITH_TIME, STUB),
        (PHP_FPM, replace(FPM, served={77: 9})),
        (PHP_FPM_JSON, FPM),
        (PHP_FPM.replace("\n", "\r\n"), replace(FPM, served={77: 9})),
        (APACHE_PAGE, replace(BOARD, uptime_s=None, served={312: 12, 313: 5})),
        (APACHE_PAGE.replace("Total acc", "T"), replace(PAGE_WITHOUT, served={312: 12, 313: 5})),
    ],
    ids=[
        *("apache", "uncounted", "nginx", "nginx-time", "php-fpm", "php-fpm-json", "line-ends"),
        *("apache-page", "apache-page-uncounted"),
    ],
)
def test_a_page_is_told_by_its_content(text, said):
    assert status(text) == said


@each_row(
    "text",
    [
        "",
        "<html><h1>Apache Server Status</h1></html>",
        "{",
        "[1, 2]",
        '{"idle processes": 1}',
        '{"idle processes": 1, "active processes": -4}',
        "{" * 10_000,
        "idle processes: x\nactive processes: 1",
        "idle processes: ²\nactive processes: 1",
        "idle processes: " + "1" * 5000 + "\nactive processes: 1",
        "Active connections: 1",
    ],
)
def test_what_is_no_status_page(text):
    assert status(text) is None


def test_the_one_that_answers_this_is_not_counted_as_work():
    seen = status(APACHE)
    assert seen is not None
    assert seen.others["W answering"] == seen.states["W answering"] - 1
    assert {**seen.others, "W answering": 2} == dict(seen.states)
    # Of a server that counted its answer too late none is taken away.
    assert replace(seen, answering="R reading").others["W answering"] == 2
    assert replace(seen, states={"_ waiting": 2}).others == {"_ waiting": 2}


@each_row(
    ("n_before", "n_after", "elapsed_s", "rate"),
    [
        (100, 301, 2.0, 100.0),
        (100, 101, 1.0, 0.0),
        (100, 100, 1.0, 0.0),
        (100, 7, 1.0, None),
        (None, 7, 1.0, None),
        (7, None, 1.0, None),
        (7, 8, 0.0, None),
    ],
)
def test_a_rate_is_without_the_request_for_the_page(n_before, n_after, elapsed_s, rate):
    seen = status(NGINX)
    assert seen is not None
    before, after = replace(seen, n_requests=n_before), replace(seen, n_requests=n_after)
    assert requests_per_s(before, after, elapsed_s) == rate


def test_the_scoreboard_of_the_page_for_people_is_that_of_the_other():
    page = f"<dt>4 requests</dt></dl><pre>_WKR_W\nG....</pre>\n<p>Scoreboard Key:<br />{'_'}</p>"
    read, told = scoreboard(page), status(APACHE)
    assert read is not None
    assert told is not None
    assert read.others == told.others
    assert scoreboard("<pre>no board</pre>") is scoreboard(APACHE) is None
