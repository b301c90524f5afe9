"""What an adopted site is proposed, its findings first."""

import pytest
from msgspec import structs
from tests.advice.rules.told import APACHE, FPM, NGINX
from tests.words import words

from httpdyno.adopt.discover import Gathered
from httpdyno.adopt.memory import OwnServer
from httpdyno.adopt.smoke_test import Answered, RehearsalReport
from httpdyno.adopt.study_text import Offer
from httpdyno.adopt.suggest import Wanted, propose
from httpdyno.advice.proposal import WorkerRoom
from httpdyno.advice.rules.facts import PoolFacts, configured
from httpdyno.errors import UsageError
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import Burst, Member, RequestSpec, Survey
from httpdyno.registry import site_adapters
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.names import knob_name
from httpdyno.servers.stack.snapshot import Found

ADAPTERS = {each.name: each for each in site_adapters()}
PREFORK = "LoadModule mpm_prefork_module m/mod_mpm_prefork.so\nListen 8080\n"
SLOW = f"""{PREFORK}LoadModule log_config_module m/mod_log_config.so
MaxRequestWorkers 5
MaxConnectionsPerChild 100
KeepAliveTimeout 60
HostnameLookups On
"""
OFFER = Offer(requests=(RequestSpec(path="/"),), connections=64)
REPORT = RehearsalReport(ready_s=0.1, answered=())


def found(kind, main, text):
    member = Member(name=kind, kind=kind, main=main)
    files = MemberFiles(texts={main: text.encode()})
    survey = ADAPTERS[kind].survey(member, files, None)
    assert isinstance(survey, Survey)
    return Found(member=member, files=files, survey=survey)


def proposed(  # noqa: PLR0913 - what may be seen of a site
    *members, rooms=(), servers=None, outside=(), unused=(), answered=(), burst=None, **wanted
):
    gathered = Gathered(members=members, outside=outside)
    infos = {
        knob_name(each.member.name, name): info
        for each in members
        for name, info in ADAPTERS[each.member.kind].knobs(each.survey).items()
    }
    report = structs.replace(REPORT, rooms=rooms, unused=unused, answered=answered, burst=burst)
    asked = Wanted(n_cpus=2, **wanted)
    return propose(gathered, infos, report, OFFER, asked, servers=servers)


def test_findings_come_first_with_their_evidence_and_the_likeliest_after_them():
    tried = proposed(found("apache", APACHE, SLOW)).tried
    assert [(each.name, each.levels) for each in tried] == [
        ("apache:KeepAliveTimeout", (2,)),
        ("apache:MaxConnectionsPerChild", (10_000,)),
        ("apache:HostnameLookups", ("Off",)),
        ("apache:MaxRequestWorkers", (128,)),
    ]
    by_name = {each.name: words(each.why) for each in tried}
    assert by_name["apache:HostnameLookups"] == (
        "the name server is asked for the name of each client, and the client waits "
        f"(HostnameLookups On, {APACHE}:7) [name-lookups]"
    )
    assert by_name["apache:MaxRequestWorkers"].startswith("5 at a time for 64 clients")


def test_a_level_that_cannot_be_is_refused_by_what_its_own_kind_takes():
    with pytest.raises(UsageError, match="expected true or false") as refused:
        proposed(found("apache", APACHE, SLOW), levels={"KeepAlive": ("development",)})
    assert refused.value.hint == "`httpdyno knobs apache` lists what each may be"


@pytest.mark.parametrize(
    ("coding", "blocked"), [("gzip", ""), ("", "no request was answered compressed")]
)
def test_levels_of_compression_are_tried_only_where_answers_are_compressed(coding, blocked):
    answer = Answered(
        path="/", status=200, words="200", time_s=0.1, is_expected=True, coding=coding
    )
    nginx = found("nginx", NGINX, "events {}\nhttp { gzip on; gzip_comp_level 9; }\n")
    text = f"{PREFORK}LoadModule deflate_module m/d.so\nDeflateCompressionLevel 9\n"
    apache = found("apache", APACHE, text)
    for member, knob in (
        (nginx, "nginx:gzip_comp_level"),
        (apache, "apache:DeflateCompressionLevel"),
    ):
        offer = proposed(member, answered=(answer,))
        [each] = [each for each in (*offer.tried, *offer.listed) if each.name == knob]
        assert (words(each.blocked), each in offer.tried) == (blocked, not blocked)


@pytest.mark.parametrize(
    ("cpu_s", "idle_ratio", "first"),
    [
        (0.2, 0.8, "apache:MaxRequestWorkers"),
        # The cores were used up: more at a time would not help.
        (2.0, 0.0, "apache:KeepAliveTimeout"),
    ],
)
def test_what_clients_were_seen_to_wait_for_comes_first(cpu_s, idle_ratio, first):
    burst = Burst(
        duration_s=1.0,
        connections=64,
        n_answers=100,
        n_failed=0,
        waiting={"127.0.0.1:8080": 40},
        cpu_s=cpu_s,
        idle_ratio=idle_ratio,
    )
    assert proposed(found("apache", APACHE, SLOW), burst=burst).tried[0].name == first


def test_what_may_lose_lines_is_tried_only_where_that_is_allowed():
    one = found("nginx", NGINX, "events {}\nhttp { access_log /x.log; server { listen 80; } }\n")
    found_so = proposed(one)
    assert "nginx:access_log_buffer" not in {each.name for each in found_so.tried}
    [listed] = [each for each in found_so.listed if each.name == "nginx:access_log_buffer"]
    assert words(listed.blocked) == "needs `--allow loss`"
    assert words(listed.why).endswith("[nginx-unbuffered-log]")
    allowed = proposed(one, allowed=["loss"]).tried
    assert "nginx:access_log_buffer" in {each.name for each in allowed}


def test_what_is_bad_in_one_member_comes_before_what_is_a_hint_in_another():
    front = "worker_processes 2;\nevents {}\nhttp { sendfile off; server { listen 80; } }\n"
    pool = "[www]\nlisten = /run/php.sock\npm = static\npm.max_children = 64\npm.max_requests = 5\n"
    tried = proposed(found("nginx", NGINX, front), found("php-fpm", FPM, pool)).tried
    assert [(each.name, each.found_by) for each in tried][:2] == [
        ("php-fpm:pm.max_requests", "php-short-lives"),
        ("nginx:sendfile", "nginx-no-sendfile"),
    ]


def test_what_a_person_says_of_a_knob_counts_before_its_finding():
    one = found("apache", APACHE, SLOW)
    tried = {each.name: each for each in proposed(one, levels={"KeepAliveTimeout": (3,)}).tried}
    assert tried["apache:KeepAliveTimeout"].levels == (3,)
    assert words(tried["apache:KeepAliveTimeout"].why) == "asked for by name"
    left = proposed(one, left_out=["KeepAliveTimeout"]).tried
    assert "apache:KeepAliveTimeout" not in {each.name for each in left}


def test_what_no_request_of_the_study_reaches_is_listed_unless_a_person_names_it():
    front = (
        "worker_processes 2;\nevents {}\nhttp {\nupstream shop { server 127.0.0.1:9021; }\n"
        "upstream jobs { server 127.0.0.1:9022; }\nserver { listen 80;\n"
        "location /shop { fastcgi_pass shop; }\nlocation /jobs { fastcgi_pass jobs; }\n"
        "location /mail { proxy_pass http://127.0.0.1:9099; } } }\n"
    )
    pools = "".join(
        f"[{name}]\nlisten = 127.0.0.1:{port}\npm = static\npm.max_children = 4\n"
        for name, port in (("shop", 9021), ("jobs", 9022))
    )
    members = found("nginx", NGINX, front), found("php-fpm", FPM, pools)
    away = tuple(each for each in members[0].survey.backends if each.to.endswith("9099"))
    every = proposed(*members, outside=away, unused=("php-fpm@jobs",))
    blocked = {each.name for each in every.listed if words(each.blocked).startswith("no request")}
    assert blocked == {
        "php-fpm:pm.max_children@jobs",
        "nginx:upstream_keepalive@jobs",
        "nginx:upstream_keepalive@127.0.0.1:9099",
    }
    assert {"php-fpm:pm.max_children@shop", "nginx:upstream_keepalive@shop"} <= {
        each.name for each in every.tried
    }
    named = {"php-fpm:pm.max_children@jobs": (8,)}
    asked = proposed(*members, unused=("php-fpm@jobs",), levels=named)
    assert "php-fpm:pm.max_children@jobs" in {each.name for each in asked.tried}


def test_rules_that_need_a_running_server_are_silent():
    every = proposed(found("apache", APACHE, SLOW))
    rules = {each.found_by for each in (*every.tried, *every.listed)}
    assert rules == {"", "kept-workers", "short-lives", "name-lookups"}


def test_workers_are_cut_to_their_own_pools_room():
    rooms = tuple(
        WorkerRoom(member=name, n=n, n_copies=2) for name, n in (("nginx", 500), ("php-fpm", 20))
    )
    front = "worker_processes 1;\nevents {}\nhttp { server { listen 80; } }\n"
    pool = "[www]\nlisten = /run/php.sock\npm = static\npm.max_children = 4\n"
    members = found("nginx", NGINX, front), found("php-fpm", FPM, pool)
    tried = {each.name: each for each in proposed(*members, rooms=rooms).tried}
    assert tried["nginx:worker_processes"].memory is None
    cut = tried["php-fpm:pm.max_children"]
    assert cut.levels == (20,)
    said = "32, 64 left out: memory has room for 20 processes of this pool"
    assert words(cut.memory).startswith(said)


POOL = PoolFacts(
    n_workers=5,
    names=("php-fpm8.2",),
    n_fit=40,
    each_bytes=90 << 20,
    available_bytes=4 << 30,
    limited_by="MemAvailable and what it has",
)


@pytest.mark.parametrize(
    ("children", "known", "rule", "levels"),
    [
        (100, {"pool": POOL}, "workers-over-memory", (40,)),
        (
            5,
            {"pool": POOL, "queues": (ListenQueue(address="unix:/run/p", waiting=9, backlog=511),)},
            "workers-below-memory",
            (10, 32, 64),
        ),
    ],
)
def test_what_the_server_shows_that_runs_is_evidence_too(children, known, rule, levels):
    text = f"[www]\nlisten = /run/php.sock\npm = static\npm.max_children = {children}\n"
    member = found("php-fpm", FPM, text)
    of_files = configured(member.member, member.survey, is_whole=True)
    server = OwnServer(facts=structs.replace(of_files, **known))
    tried = {each.name: each for each in proposed(member, servers={"php-fpm": server}).tried}
    each = tried["php-fpm:pm.max_children"]
    assert (each.found_by, each.levels) == (rule, levels)
    assert rule not in {each.found_by for each in proposed(member).tried}
