"""How what findings propose is proven, as `httpdyno inspect` says it."""

import pytest
from tests.report.inspect.test_inspect import NOW_S, ROOT_PID, observed, process, worker
from tests.report.inspect.test_loaded import loaded
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.advice.curve import LifeRow
from httpdyno.advice.rules.declaration import Proposed
from httpdyno.model import Member, Survey
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.facts import Surroundings
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.proof import proofs
from httpdyno.report.inspect.text import inspect_text
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.stack.adapter import MemberFiles

ADAPTERS = {each.name: each for each in site_adapters()}
PREFORK = "LoadModule mpm_prefork_module m/mod_mpm_prefork.so\nListen 8080\n"
LOGGING = "events {}\nhttp { sendfile off; access_log /x.log; server { listen 80; } }\n"
POOL = "[www]\nlisten = /run/php.sock\npm = static\npm.max_children = 5\npm.max_requests = 9\n"
MANY = f"{PREFORK}MaxRequestWorkers 250\nKeepAliveTimeout 60\n"


def server(kind, main, text, pid=None, **seen):
    member = Member(name=kind, kind=kind, main=main)
    adapter = ADAPTERS[kind]
    survey = adapter.survey(member, MemberFiles(texts={main: text.encode()}), None)
    assert isinstance(survey, Survey)
    root = process(pid, 1, 60.0) if pid else None
    found = Found(member=member, root=root)
    looked = Inspected(found=found, survey=survey, knobs=adapter.knobs(survey))
    return Server(seen=looked, **seen)


def commands(*servers):
    return [" ".join(each.command) for each in proofs(Page(servers=servers, now_s=NOW_S))]


@each_row(
    ("servers", "expected"),
    [
        pytest.param(
            [server("apache", "/etc/apache2/apache2.conf", f"{PREFORK}KeepAliveTimeout 60\n")],
            ["httpdyno adopt /etc/apache2/apache2.conf"],
            id="at rest",
        ),
        pytest.param(
            [server("nginx", "/etc/nginx/nginx.conf", LOGGING, 812)],
            ["httpdyno adopt --allow loss pid:812"],
            id="what may lose lines",
        ),
        pytest.param(
            [server("apache", "/etc/apache2/apache2.conf", PREFORK)], [], id="nothing proposed"
        ),
        pytest.param(
            [server("php-fpm", "/etc/php-fpm.conf", POOL, 790)],
            ["httpdyno adopt --with pid:790 FRONT"],
            id="what speaks no HTTP",
        ),
        pytest.param(
            [
                server(
                    "nginx",
                    "/etc/nginx/nginx.conf",
                    "events {}\nhttp { access_log off; }\n",
                    812,
                    backends=(("unix:/run/php.sock", "php-fpm 789, php-fpm 790"),),
                ),
                server("php-fpm", "/etc/php-fpm.conf", POOL, 790),
            ],
            ["httpdyno adopt --with pid:790 pid:812"],
            id="with the server in front",
        ),
    ],
)
def test_the_command_means_that_server_and_allows_what_has_to_be(servers, expected):
    assert commands(*servers) == expected


def test_what_only_the_running_server_shows_is_named_to_adopt():
    # 2 GiB less a tenth, and workers with 20 MiB of their own: fewer than 250 fit.
    sizes = observed(worker(ROOT_PID, 1), *(worker(900 + n, 20) for n in range(3)))
    one = server("apache", "/etc/apache2/apache2.conf", MANY, ROOT_PID, observed=sizes)
    [proof] = proofs(Page(servers=(one,), now_s=NOW_S))
    by_knob = {each.knob: each.value for each in proof.tried}
    assert set(by_knob) == {"KeepAliveTimeout", "MaxRequestWorkers", "KeepAlive"}
    n_fit = by_knob["MaxRequestWorkers"]
    assert sizes.bound is not None
    assert sizes.bound.n is not None
    assert n_fit == sizes.bound.n < 250
    assert proof.command == (
        *("httpdyno", "adopt", "--knob", f"apache:MaxRequestWorkers={n_fit}"),
        *("--knob", "apache:KeepAlive=false"),
        f"pid:{ROOT_PID}",
    )


def test_a_knob_of_which_two_values_are_proposed_is_named_once():
    # Now fewer than 250 fit, at the end of their lives still fewer, and with shorter ones more.
    sizes = observed(worker(ROOT_PID, 1), *(worker(900 + n, 20) for n in range(3)))
    lives = (
        LifeRow(n_requests=500, each_bytes=30e6, n_workers=60, kept_ratio=0.96),
        LifeRow(n_requests=None, each_bytes=90e6, n_workers=20, kept_ratio=1.0),
    )
    load = loaded(*lives, configured=())
    one = server("apache", "/etc/apache2/apache2.conf", MANY, ROOT_PID, observed=sizes, loaded=load)
    [proof] = proofs(Page(servers=(one,), now_s=NOW_S))
    assert "apache:MaxRequestWorkers=20,60" in proof.command
    assert "apache:MaxConnectionsPerChild=500" in proof.command


def test_what_is_no_knob_there_is_not_proposed():
    looked = server("apache", "/etc/apache2/apache2.conf", f"{PREFORK}KeepAliveTimeout 60\n").seen
    bare = Server(seen=Inspected(found=looked.found, survey=looked.survey))
    assert [each.proposes for each in bare.findings if each.name == "kept-workers"] == [()]
    assert commands(bare) == []


def test_text_says_it_once_at_the_end_and_json_at_each_finding():
    one = server(
        "nginx",
        "/etc/nginx/nginx.conf",
        f"worker_processes 1;\n{LOGGING}",
        812,
        surroundings=Surroundings(n_cpus=4),
    )
    page = Page(servers=(one,), now_s=NOW_S, isolation="cell")
    text = plain_text(inspect_text(page))
    assert " ".join(text[text.index("to prove it") :].split()) == (
        "to prove it `httpdyno adopt --allow loss pid:812`, then `httpdyno tune` of the study that "
        "it writes; tried: worker_processes=4, sendfile=on, access_log_buffer=32k/1s "
        "a private copy possible: cell"
    )
    found = {each["name"]: each["proposes"] for each in inspect_json(page)["findings"]}
    assert found["nginx-one-worker"] == [{"knob": "worker_processes", "value": 4}]
    assert {name for name, proposes in found.items() if not proposes}.isdisjoint(
        {"nginx-no-sendfile", "nginx-unbuffered-log"}
    )
    assert one.findings[0].proposes == (Proposed(knob="worker_processes", value=4),)
