"""What is said of a rehearsal: a sentence for each thing seen, with the way out that there is."""

from tests.rows import each_row

from httpdyno.adopt.remark import remarked
from httpdyno.adopt.smoke_test import Answered, RehearsalReport
from httpdyno.model import Burst, Listener, Origin, Reading, Survey
from httpdyno.report.shared.message import texts

PLAIN = Listener(address="0.0.0.0:80")
SECURE = Listener(address="0.0.0.0:8443", is_tls=True)


def reading(name, text, line):
    return Reading(
        name=name, scope="", text=text, origin=Origin(file="/e/n.conf", line=line, start=0, end=1)
    )


LIMIT = reading("limit_req", "zone=one burst=5", 9)
ALLOW, DENY = reading("allow", "10.0.0.0/8", 4), reading("deny", "all", 5)
AUTH, NO_AUTH = reading("auth_basic", "shop", 7), reading("auth_basic", "off", 8)


def survey(*readings, listeners=(PLAIN,)):
    return Survey(version="nginx", readings=readings, listeners=listeners)


def answered(status, path="/", **more):
    return Answered(
        path=path,
        status=status,
        words=str(status),
        time_s=0.1,
        is_expected=0 < status < 400,
        **more,
    )


def burst(n_answers=300, n_failed=0, **more):
    return Burst(duration_s=2.0, connections=16, n_answers=n_answers, n_failed=n_failed, **more)


def said(*answers, surveyed=None, is_tls=False, **more):
    report = RehearsalReport(ready_s=0.1, answered=answers, **more)
    return texts(remarked(report, [surveyed or survey()], is_tls=is_tls))


@each_row(
    ("found", "expected"),
    [
        (said(answered(200), burst=burst(statuses={"200": 300})), ()),
        (
            said(answered(502), refused=("tcp 127.0.0.1:5432",)),
            (
                "/ is answered 502: what is behind the front is out of reach for the copy "
                "(tcp 127.0.0.1:5432); add that server with `--with`, or its unix socket with "
                "`--door`",
            ),
        ),
        (
            said(answered(401), answered(401, "/b"), surveyed=survey(AUTH, NO_AUTH)),
            (
                "/ and 1 more ask for a user (`auth_basic shop`, /e/n.conf:7): give the request "
                'its header in the study, `headers = { Authorization = "…" }`',
            ),
        ),
        (
            said(answered(403), surveyed=survey(ALLOW, DENY)),
            (
                "/ is answered 403 (`allow 10.0.0.0/8`, /e/n.conf:4; `deny all`, /e/n.conf:5): all "
                "load comes from 127.0.0.1; adopt a configuration that has `allow 127.0.0.1;` too",
            ),
        ),
        (
            said(answered(403)),
            ("/ is answered 403: the last words of the copy are in `rehearsal.json`",),
        ),
        (
            said(answered(404, "/a"), answered(404, "/b"), answered(404, "/c")),
            (
                "/a and 2 more are answered 404: is that what clients ask for, and of this host "
                "(`--host`)?",
            ),
        ),
        (
            said(
                answered(301, location="https://shop.example/"),
                surveyed=survey(listeners=(PLAIN, SECURE)),
            ),
            ("/ is only sent on to https: `--listener 8443` loads the one with TLS",),
        ),
        (
            said(answered(301, location="https://shop.example/")),
            ("/ is only sent on to https: no listener here has TLS",),
        ),
        (said(answered(301, location="https://shop.example/"), is_tls=True), ()),
        (said(answered(301, location="/shop/")), ()),
        (
            said(answered(200, n_bytes=1000, n_bytes_again=1100)),
            (
                "two requests of / were answered with 1,000 and 1,100 bytes: its length says "
                "nothing of whether it is right",
            ),
        ),
        (said(answered(200, n_bytes=1000, n_bytes_again=1040)), ()),
        (
            said(
                burst=burst(statuses={"200": 206, "503": 94}),
                surveyed=survey(LIMIT),
            ),
            (
                "94 of 300 requests of 16 clients at a time were limited (`limit_req zone=one "
                "burst=5`, /e/n.conf:9): all load has one address; it is let through with a `rate` "
                'below the limit in [workload], and `metric = "latency_p99_s"` in [objective]',
            ),
        ),
        (
            said(burst=burst(statuses={"429": 300})),
            (
                "300 of 300 requests of 16 clients at a time were turned away (503 or 429): try "
                "fewer with `-c`",
            ),
        ),
        (
            said(burst=burst(overflows=12, waiting={"0.0.0.0:80": 10})),
            (
                "12 connections of 16 clients found the queue of a listener full, at 0.0.0.0:80: "
                "its backlog is a knob",
            ),
        ),
        (
            said(burst=burst(n_answers=10, n_failed=90)),
            ("90 of 100 requests of 16 clients at a time got no answer: try fewer with `-c`",),
        ),
    ],
)
def test_what_was_seen_is_said_in_a_sentence_with_the_way_out(found, expected):
    assert found == expected


def test_a_share_of_files_is_of_what_is_known_of_right_answers():
    def share(*answers):
        return RehearsalReport(ready_s=0.1, answered=answers).static_share

    of_file, of_program = answered(200, is_file=True), answered(200, is_file=False)
    assert share(of_file, of_program) == 0.5
    assert share(of_file, answered(200), answered(404, is_file=False)) == 1.0
    assert share(answered(200)) is None
    assert share() is None
