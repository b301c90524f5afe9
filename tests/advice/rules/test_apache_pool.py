"""What is said of the numbers of Apache's pool, and of connections that it keeps."""

from msgspec import structs
from tests.advice.rules.told import apache, evidence, findings, named, said
from tests.rows import each_row

from httpdyno.model import Reading
from httpdyno.servers.apache.knob import WRITTEN

FIRES = [
    (
        "inverted-spares",
        "prefork",
        "MinSpareServers 10\nMaxSpareServers 5\nStartServers 10",
        "`MaxSpareServers` 5 is not above `MinSpareServers` 10 by a process: Apache takes 11 "
        "without a word",
    ),
    (
        "inverted-spares",
        "prefork",
        "MinSpareServers 10",
        "`MaxSpareServers` 10 is not above `MinSpareServers` 10 by a process: Apache takes 11 "
        "without a word",
    ),
    (
        "inverted-spares",
        "event",
        "MinSpareThreads 75\nMaxSpareThreads 80\nThreadsPerChild 25",
        "`MaxSpareThreads` 80 is not above `MinSpareThreads` 75 by a process: Apache takes 100 "
        "without a word",
    ),
    (
        "start-outside-spares",
        "prefork",
        "StartServers 2",
        "`StartServers` 2 is below `MinSpareServers` 5: after a start processes are made once a "
        "second",
    ),
    (
        "start-outside-spares",
        "event",
        "StartServers 20",
        "`StartServers` 20 × 25 threads is above `MaxSpareThreads` 250: the idle ones are ended "
        "one a second",
    ),
    (
        "clipped-workers",
        "prefork",
        "MaxClients 400",
        "`MaxRequestWorkers` 400 is cut to 256 by `ServerLimit` 256",
    ),
    (
        "clipped-workers",
        "event",
        "MaxRequestWorkers 400\nServerLimit 8",
        "`MaxRequestWorkers` 400 is cut to 200 by `ServerLimit` 8 × 25 threads",
    ),
    (
        "kept-workers",
        "prefork",
        "KeepAliveTimeout 60\nMaxRequestWorkers 30",
        "under prefork a kept connection holds a worker for 60 s after its last answer: "
        "30 workers take 0.5 such visitors a second",
    ),
    (
        "kept-workers",
        "prefork",
        "KeepAliveTimeout 15\nMaxRequestWorkers 400",
        "under prefork a kept connection holds a worker for 15 s after its last answer: "
        "256 workers take 17.1 such visitors a second",
    ),
]
SILENT = [
    ("inverted-spares", "prefork", "MinSpareServers 5\nMaxSpareServers 6"),
    ("inverted-spares", "event", "MinSpareThreads 75\nMaxSpareThreads 100"),
    # The other module's directives count for nothing.
    ("inverted-spares", "event", "MinSpareServers 10\nMaxSpareServers 5"),
    ("start-outside-spares", "prefork", "StartServers 5"),
    ("start-outside-spares", "prefork", "StartServers many"),
    ("start-outside-spares", "event", "MaxRequestWorkers 100"),
    ("clipped-workers", "prefork", "ServerLimit 400\nMaxRequestWorkers 400"),
    ("clipped-workers", "event", "MaxRequestWorkers 400"),
    # Apache takes 16 whole processes of 25 threads, which no longer limit would change.
    ("clipped-workers", "event", "MaxRequestWorkers 410"),
    # What an include has that nobody could follow may raise the limit.
    ("clipped-workers", "prefork", "MaxRequestWorkers 400\nInclude ${nowhere}/x.conf"),
    ("kept-workers", "prefork", "MaxRequestWorkers 30"),
    ("kept-workers", "prefork", "KeepAliveTimeout 5"),
    ("kept-workers", "prefork", "KeepAliveTimeout 500ms"),
    ("kept-workers", "prefork", "KeepAlive Off\nKeepAliveTimeout 60"),
    ("kept-workers", "event", "KeepAliveTimeout 60"),
]


@each_row(("name", "mpm", "text", "words"), FIRES)
def test_numbers_that_contradict_each_other_are_told(name, mpm, text, words):
    assert named(apache(text, mpm=mpm), name) == [words]


@each_row(("name", "mpm", "text"), SILENT)
def test_numbers_that_agree_and_those_not_known_are_not(name, mpm, text):
    assert named(apache(text, mpm=mpm), name) == []


def test_a_number_has_its_file_and_line():
    facts = apache("\n".join(["Listen 80", "MaxRequestWorkers 400"]))
    assert evidence(facts, "clipped-workers") == (
        "MaxRequestWorkers 400, /etc/apache2/apache2.conf:2; ServerLimit 256, compiled in"
    )


def test_what_apache_itself_says_that_it_cuts_is_told_as_it_was_written():
    facts = apache("MaxRequestWorkers 400")
    [written] = facts.said("MaxRequestWorkers")
    cut = structs.replace(written, text="256", evidence="said")
    before = Reading(name=f"MaxRequestWorkers{WRITTEN}", scope="", text="400")
    told = structs.replace(facts.survey, readings=(cut, before))
    assert named(structs.replace(facts, survey=told), "clipped-workers") == [
        "`MaxRequestWorkers` 400 is cut to 256 by `ServerLimit` 256"
    ]
    only_cut = structs.replace(facts.survey, readings=(cut,))
    assert named(structs.replace(facts, survey=only_cut), "clipped-workers") == []


def test_the_limit_that_is_advised_is_that_of_the_whole_processes_asked_for():
    facts = apache("MaxRequestWorkers 510", mpm="event")
    [one] = [each for each in findings(facts) if each.name == "clipped-workers"]
    assert one.do == "set `ServerLimit` to 20 and restart, or ask for 400"


def test_a_pool_that_visitors_fill_by_leaving_is_bad():
    slow = apache("KeepAliveTimeout 60\nMaxRequestWorkers 30")
    assert [severity for _, severity, _ in said(slow)] == ["bad"]


TLS = "Listen 443\n<VirtualHost *:443>\nServerName shop.example\nSSLEngine on\n{}\n</VirtualHost>"


def test_tls_without_kept_connections_is_told():
    facts = apache("KeepAlive Off\n" + TLS.format(""))
    assert said(facts) == [
        (
            "closed-tls",
            "doubtful",
            "each request makes a connection and a TLS handshake of its own: `KeepAlive` is off",
        )
    ]
    assert evidence(facts, "closed-tls").endswith(":1; TLS at 0.0.0.0:443")


@each_row(
    "text",
    [
        TLS.format(""),
        "KeepAlive Off\nListen 80",
        "KeepAlive Off\n" + TLS.format("KeepAlive On"),
        TLS.format("KeepAlive Off"),
    ],
)
def test_where_connections_are_kept_or_there_is_no_tls_nothing_is_said(text):
    assert named(apache(text), "closed-tls") == []
