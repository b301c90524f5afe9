"""What `httpdyno inspect --census` shows of a census, and what rules make of it."""

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from tests.report.inspect.test_inspect import PAGES, secluded
from tests.report.plain import plain_text

from httpdyno.reason import because
from httpdyno.report.inspect.facts import NOTHING_KNOWN, Asked, facts_of
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page
from httpdyno.report.inspect.text import census_row, inspect_text
from httpdyno.telemetry.syscalls.count import (
    Connected,
    KindCalls,
    LookedFor,
    PerRequest,
    SyscallProfile,
)

URL = "http://127.0.0.1:8080/news/summary%20x"
ONCE = PerRequest(mean=1, low=1, high=1)
OFTEN = PerRequest(mean=2.35, low=2, high=9)
CENSUS = SyscallProfile(
    n_requests=20,
    n_traced=4,
    n_took_part=2,
    total=PerRequest(mean=7.35, low=7, high=14),
    kinds=(
        KindCalls(kind="stat", calls=ONCE, names=("newfstatat",)),
        KindCalls(kind="lstat", calls=OFTEN, names=("newfstatat",)),
        KindCalls(kind="open", calls=ONCE, names=("openat",)),
        KindCalls(kind="read", calls=ONCE, names=("read",)),
        KindCalls(kind="socket", calls=ONCE, names=("connect",)),
        KindCalls(kind="other", calls=ONCE, names=tuple("abcdefghij")),
    ),
    connection=PerRequest(mean=7, low=7, high=7),
    missing_opens=ONCE,
    missing_stats=ONCE,
    htaccess_opens=ONCE,
    name_servers=ONCE,
    files=(
        LookedFor(
            path="/srv/www/news/summary x", calls=ONCE, kinds=("stat", "lstat"), is_missing=True
        ),
        LookedFor(path="/srv/.htaccess", calls=ONCE, kinds=("open",), is_missing=True),
        LookedFor(path="/etc/hosts", calls=ONCE, kinds=("open",), is_missing=False),
    ),
    n_files=18,
    connected=(Connected(address="127.0.0.53:53", calls=ONCE),),
    n_connections=20,
    rest_s=0.33,
    rest_calls=1,
)
ASKED = Asked(url=URL, census=CENSUS, answers=((200, 24), (404, 2)))


def facts(census=CENSUS, url=URL):
    asked = Asked(url=url, census=census, answers=())
    known = facts_of(PAGES["site"].servers[0].seen, None, NOTHING_KNOWN, asked)
    assert known is not None
    return known


def test_the_text_is_as_it_was_read(golden):
    page = Page(servers=(replace(secluded(), asked=ASKED),), now_s=2_000_000.0)
    golden("report/inspect_census.txt", plain_text(inspect_text(page)))


def test_json_has_it_whole():
    page = Page(servers=(replace(secluded(), asked=ASKED),), now_s=2_000_000.0)
    [server] = json.loads(json.dumps(inspect_json(page)))["servers"]
    assert server["census"]["url"] == URL
    assert server["census"]["answers"] == {"200": 24, "404": 2}
    assert server["census"]["kinds"][1] == {
        "kind": "lstat",
        "calls": {"mean": 2.35, "low": 2, "high": 9},
        "names": ["newfstatat"],
    }


def test_what_all_requests_took_alike_is_said_to_be():
    kinds = tuple(changed(each, calls=ONCE) for each in CENSUS.kinds)
    same = changed(CENSUS, kinds=kinds, total=PerRequest(mean=6, low=6, high=6))
    assert "the same in all 20" in census_row(Asked(url=URL, census=same, answers=()))


def test_rules_know_what_was_seen():
    calls = facts().calls
    assert calls is not None
    assert (calls.stats, calls.lstats, calls.htaccess_opens) == (1, 2.35, 1)
    assert (calls.name_servers, calls.hosts_opens) == (1, 1)
    assert calls.missing_file == "/srv/www/news/summary x"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/other"])
def test_a_file_of_another_name_is_not_the_one_that_was_asked_for(url):
    calls = facts(url=url).calls
    assert calls is not None
    assert calls.missing_file == ""


def test_figures_that_are_doubtful_are_no_evidence():
    assert (
        facts(changed(CENSUS, warnings=(because("telemetry.lines_not_understood", n=1),))).calls
        is None
    )
