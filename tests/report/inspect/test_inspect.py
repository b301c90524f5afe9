"""What `httpdyno inspect` shows of servers that were seen."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from msgspec.structs import replace as changed
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.advice.curve import Growth
from httpdyno.advice.rules.facts import Measured
from httpdyno.host.procfs import ZOMBIE
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import Backend, Listener, LogPlace, Member, Notice, Origin, Reading, Survey
from httpdyno.reason import because
from httpdyno.report.inspect.facts import Surroundings, facts_of
from httpdyno.report.inspect.finding import Severity, findings
from httpdyno.report.inspect.json import inspect_json, pool_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import detail_rows, inspect_text
from httpdyno.report.shared.message import texts
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.network.listening import ListeningSocket
from httpdyno.servers.nginx.catalogue import TUNABLES
from httpdyno.servers.systemd import UnitFacts
from httpdyno.telemetry.kernel import HostMemory, Pressure, Sockets
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.pool import memory_bound, pool
from httpdyno.telemetry.worker import Memory, Sample, Worker

NOW_S = 2_000_000.0
MAIN = "/etc/nginx/nginx.conf"
SITE = "/etc/nginx/sites-enabled/shop.example"
ROOT_PID, MIB = 812, 1 << 20
MOST_LINES = 6
"""Of one finding, in 80 columns."""
SOCKET = "unix:/run/php/php8.2-fpm.sock"


def process(pid: int, parent: int, age_s: float, user: str = "root") -> ProcessFacts:
    return ProcessFacts(
        pid=pid, parent=parent, name="x", started_at_s=NOW_S - age_s, user=user, program="/usr/x"
    )


def reading(name: str, text: str, *, scope: str = "", line: int | None = 1) -> Reading:
    origin = Origin(file=MAIN, line=line, start=0, end=1) if line else None
    return Reading(name=name, scope=scope, text=text, origin=origin)


def worker(pid: int, own_mib: int, *, is_seen: bool = True, state: str = "sleeping") -> Worker:
    memory = Memory(
        rss_bytes=(own_mib + 20) * MIB,
        pss_bytes=(own_mib + 4) * MIB,
        uss_bytes=own_mib * MIB,
        shared_bytes=20 * MIB,
        anonymous_pss_bytes=(own_mib + 2) * MIB,
        file_pss_bytes=2 * MIB,
        swap_bytes=0,
    )
    return Worker(
        pid=pid,
        parent=1 if pid == ROOT_PID else ROOT_PID,
        name="nginx",
        state=state,
        started_ticks=pid,
        age_s=7200.0,
        user_s=1.5,
        system_s=0.25,
        minor_faults=700,
        major_faults=1,
        n_threads=1,
        rss_bytes=(own_mib + 20) * MIB,
        voluntary_switches=12,
        involuntary_switches=3,
        n_descriptors=9 if is_seen else None,
        memory=memory if is_seen and state != ZOMBIE else None,
        memory_age_s=0.0,
        hidden=()
        if is_seen
        else (because("telemetry.memory", why=because("telemetry.not_visible")),),
    )


def observed(*workers: Worker) -> Observed:
    together = pool(Sample(at_s=0.0, root_pids=(ROOT_PID,), workers=workers))
    pressure = Pressure(some_ratio=0.125, full_ratio=0.0, some_s=2.5)
    return Observed(
        root_pid=ROOT_PID,
        workers=workers,
        pool=together,
        host=HostMemory(available_bytes=2048 * MIB, swap_ins=3, pressure={"memory": pressure}),
        bound=memory_bound(together, available_bytes=2048 * MIB),
        sockets=Sockets(
            queues=(ListenQueue(address="0.0.0.0:80", waiting=2, backlog=511),),
            states={"established": 7, "time-wait": 1200},
            overflows=1,
            drops=1,
        ),
    )


NGINX_SIZES = (worker(ROOT_PID, 1), worker(813, 6), worker(814, 3))


def named() -> Server:
    """Return a pool that somebody asked for, with more workers than have a line."""
    workers = [worker(1000 + k, 10 + k % 7) for k in range(23)]
    gone = worker(1999, 0, state=ZOMBIE)
    return replace(secluded(), observed=observed(NGINX_SIZES[0], *workers, gone), is_named=True)


def barred() -> Server:
    """Return a pool of which this user may see little."""
    sizes = (worker(ROOT_PID, 1, is_seen=False), worker(813, 6, is_seen=False))
    return replace(secluded(), observed=observed(*sizes), is_named=True)


def nginx() -> Server:
    found = Found(
        member=Member(
            name="nginx", kind="nginx", main=MAIN, unit="nginx.service", environment_names=("LANG",)
        ),
        root=process(812, 1, 3 * 86_400),
        below=(process(813, 812, 7200, "www-data"), process(814, 812, 7200, "www-data")),
        listens=(
            ListeningSocket(inode=1, host="0.0.0.0", port=80, user_id=0),
            ListeningSocket(inode=2, host="0.0.0.0", port=443, user_id=0),
            ListeningSocket(inode=3, host="::", port=80, user_id=0),
        ),
        unit=UnitFacts(
            name="nginx.service",
            files=("/lib/systemd/system/nginx.service",),
            limits=(("LimitNOFILE", "65536"), ("MemoryMax", "2G")),
            needs_daemon_reload=True,
        ),
        open_files_limit="65536",
    )
    survey = Survey(
        version="nginx version: nginx/1.22.1",
        readings=(
            reading("worker_processes", "auto"),
            reading("keepalive_timeout", "65"),
            reading("gzip", "on", scope="shop.example"),
            reading("multi_accept", "off", line=None),
            reading("pid", "/run/nginx.pid"),
        ),
        listeners=(
            Listener(address="0.0.0.0:80", names=("static.example", "shop.example")),
            Listener(address="0.0.0.0:443", is_tls=True, names=("shop.example",)),
            Listener(address="127.0.0.1:8080", names=("status.example",)),
        ),
        backends=(Backend(to=SOCKET, protocol="fastcgi"),),
        logs=(
            LogPlace(path="/var/log/nginx/access.log"),
            LogPlace(path="/var/log/nginx/shop.log", log_format="$remote_addr $request_time"),
        ),
        unreadable=("/etc/ssl/private/shop.key",),
        notices=(
            Notice(
                why=because("apache.said", words="`server_name` shop.example stands twice"),
                origin=Origin(file=SITE, line=3, start=0, end=1),
            ),
        ),
    )
    seen = Inspected(
        found=found,
        version="1.22.1",
        survey=survey,
        n_files=34,
        knobs={
            name: TUNABLES[name.partition("@")[0]].info
            for name in ("gzip@shop.example", "keepalive_timeout", "worker_processes")
        },
        changed=(SITE,),
        perhaps_changed=(MAIN, "/etc/nginx/mime.types"),
    )
    return Server(seen=seen, observed=observed(*NGINX_SIZES), backends=((SOCKET, "php-fpm 790"),))


def api() -> Server:
    command = ("/srv/api/venv/bin/gunicorn", "shop.wsgi", "--workers", "3")
    member = Member(name="gunicorn", kind="gunicorn", command=command, folder="/srv/api")
    return Server(seen=Inspected(found=Found(member=member)))


def secluded() -> Server:
    member = Member(name="node", kind="node", command=("node", "server.js"))
    found = Found(
        member=member, root=process(9, 1, 65.0, "shop"), hidden=("environment", "sockets")
    )
    return Server(seen=Inspected(found=found, version="20.1.0"))


BY_ROOT = because("sandbox.by_root")
PAGES = {
    "site": Page(servers=(nginx(), api()), now_s=NOW_S, isolation="cell", isolation_reason=BY_ROOT),
    "little": Page(
        servers=(secluded(),), now_s=NOW_S, isolation_reason=because("sandbox.no_landlock")
    ),
    "pool": Page(servers=(named(),), now_s=NOW_S),
    "barred": Page(servers=(barred(),), now_s=NOW_S),
    "nothing": Page(servers=(), now_s=NOW_S),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_text_is_as_it_was_read(name, golden):
    golden(f"report/inspect_{name}.txt", plain_text(inspect_text(PAGES[name])))


@each_row("name", PAGES)
def test_the_text_fits_80_columns(name):
    assert all(len(line) <= 80 for line in plain_text(inspect_text(PAGES[name])).splitlines())


def test_json_has_what_the_text_has(golden):
    document = inspect_json(PAGES["site"])
    golden("report/inspect_site.json", f"{json.dumps(document, indent=2)}\n")
    text = plain_text(inspect_text(PAGES["site"])).split()
    for finding in document["servers"][0]["findings"]:
        assert finding["severity"] in get_args(Severity)
        for words in (finding["what"], finding["evidence"], finding["do"]):
            assert " ".join(words.split()) in " ".join(text).replace(" ! ", " ")


def test_a_log_that_several_scopes_name_is_told_once():
    site = nginx()
    survey = site.seen.survey
    assert survey is not None
    again = changed(survey, logs=survey.logs * 3)
    seen = replace(site, seen=replace(site.seen, survey=again))
    page = Page(servers=(seen, api()), now_s=NOW_S, isolation="cell", isolation_reason=BY_ROOT)
    assert plain_text(inspect_text(page)) == plain_text(inspect_text(PAGES["site"]))


def test_json_has_each_process(golden):
    [server] = inspect_json(PAGES["pool"])["servers"]
    assert len(server["workers"]) == 25
    assert server["pool"]["n_workers"] == 23
    assert server["pool"]["uss_bytes"] == sum(each["uss_bytes"] or 0 for each in server["workers"])
    server["workers"] = server["workers"][:2]
    golden("report/inspect_pool.json", f"{json.dumps(server, indent=2)}\n")


def test_json_has_requests_of_workers_of_whom_a_page_told():
    seen = observed(worker(ROOT_PID, 1), worker(813, 6), worker(814, 6))
    told = replace(named(), observed=seen, told={813: 7})
    [server] = inspect_json(Page(servers=(told,), now_s=NOW_S))["servers"]
    served = {each["pid"]: each["n_requests"] for each in server["workers"]}
    assert served.pop(813) == 7
    assert {*served.values()} == {None}
    text = plain_text(inspect_text(Page(servers=(told,), now_s=NOW_S)))
    rows = [line.split() for line in text.splitlines() if line.split()[1:2] == ["nginx"]]
    assert {row[0]: row[-1] for row in rows} == {f"{ROOT_PID}": "–", "813": "7", "814": "–"}


def test_what_scripts_ask_for_is_that_of_the_one_server_that_was_named():
    front, behind = named(), replace(api(), observed=observed(worker(ROOT_PID, 1), worker(813, 6)))
    document = inspect_json(Page(servers=(behind, front), now_s=NOW_S))
    for name in ("pool", "workers", "findings"):
        assert document[name] == document["servers"][1][name]
    several = (front, replace(behind, is_named=True))
    assert "pool" not in inspect_json(Page(servers=several, now_s=NOW_S))
    assert "pool" not in inspect_json(PAGES["site"])


def test_workers_are_in_the_order_of_what_is_their_own_and_the_rest_is_summed():
    lines = plain_text(inspect_text(PAGES["pool"])).splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("  process"))
    rows = [line.split() for line in lines[head + 1 :] if line.startswith("  ")]
    assert len(rows) == 1 + 20 + 1
    assert rows[0][0] == str(ROOT_PID)
    own = [float(row[2]) for row in rows[1:21]]
    assert own == sorted(own, reverse=True)
    assert rows[-1][:4] == ["3", "more", "30.0", "MiB"]


def test_queues_that_may_not_be_seen_are_named_in_json():
    barred = Sockets(hidden=(because("telemetry.queues", why=because("telemetry.not_visible")),))
    seen = pool_json(replace(observed(*NGINX_SIZES), sockets=barred))
    assert json.loads(json.dumps(seen))["sockets"]["hidden"] == ["queues not visible without root"]


def test_a_sum_of_which_a_part_may_not_be_seen_is_not_told():
    [server] = inspect_json(PAGES["barred"])["servers"]
    assert (server["memory_bytes"], server["pool"]["pss_bytes"]) == (None, None)
    assert server["pool"]["bound"] is None
    assert server["pool"]["rss_bytes"] == 47 * MIB
    assert "memory not visible without root" in server["not_seen"]
    assert "2 processes, memory not visible without root; RSS adds up to 47.0 MiB" in " ".join(
        plain_text(inspect_text(PAGES["barred"])).split()
    )


def test_a_program_that_was_replaced_is_a_finding():
    server = nginx()
    root = server.seen.found.root
    assert root is not None
    calm = Server(seen=Inspected(found=Found(member=server.seen.found.member, root=root)))
    assert calm.findings == ()
    old = ProcessFacts(
        pid=1, parent=0, name="x", started_at_s=0, program="/usr/x", is_replaced=True
    )
    seen = Inspected(found=Found(member=changed(server.seen.found.member, unit=""), root=old))
    [finding] = Server(seen=seen).findings
    assert (finding.name, finding.severity) == ("program-replaced", "warning")
    assert finding.do == "restart it to run the new one"


def test_children_that_nobody_waits_for_are_a_note():
    careless = replace(worker(813, 6), ignores_children=True)
    server = replace(secluded(), observed=observed(worker(ROOT_PID, 1), careless))
    [note] = (each for each in server.findings if each.name == "children-not-counted")
    assert (note.severity, note.evidence) == ("note", "nginx (813)")


def test_what_rules_say_comes_the_worst_first_in_a_few_lines_each():
    readings = (
        reading("worker_connections", "100000", line=7),
        reading("worker_rlimit_nofile", "1024", line=8),
        reading("gzip", "on"),
        reading("gzip_comp_level", "9"),
        reading("gzip_types", "image/png image/jpeg image/gif image/webp *"),
    )
    server = nginx()
    assert server.seen.survey is not None
    survey = changed(server.seen.survey, readings=readings)
    server = replace(
        server, seen=replace(server.seen, survey=survey), surroundings=Surroundings(n_cpus=4)
    )
    severities = [each.severity for each in server.findings]
    assert severities[0] == "bad"
    order = get_args(Severity)
    assert severities == sorted(severities, key=order.index)
    assert {"bad", "warning", "doubtful", "note", "hint"} == set(severities)
    page = replace(PAGES["site"], servers=(server,))
    text = plain_text(inspect_text(page))
    lines = text[text.index("  bad") :].splitlines()
    marks = [n for n, line in enumerate(lines) if line[:3].strip()] + [len(lines)]
    assert all(after - before <= MOST_LINES for before, after in pairwise(marks))
    assert "[nginx-open-files]" in " ".join(text.split())


def test_a_pool_whose_pages_of_files_are_not_told_apart_says_why_it_has_no_room():
    old = [
        replace(each, memory=replace(each.memory, file_pss_bytes=None))
        for each in NGINX_SIZES
        if each.memory is not None
    ]
    seen = observed(*old)
    rows = dict(detail_rows(seen))
    assert rows["room"] == (
        "unknown: this kernel does not report which pages are of files (Linux 5.4 and newer do)"
    )
    assert "formulas" not in rows
    assert f"room for workers is {rows['room']}" in texts(seen.hidden)
    blind = replace(observed(*NGINX_SIZES), bound=None)
    blind = replace(blind, host=replace(blind.host, available_bytes=None))
    assert "MemAvailable" in dict(detail_rows(blind))["room"]


def test_rules_are_told_the_room_of_workers_and_both_counts_of_each():
    server = named()
    seen = server.observed
    assert seen is not None
    assert seen.bound is not None
    seen = replace(seen, statm_bytes={1000: 40 * MIB, ROOT_PID: 40 * MIB})
    facts = facts_of(nginx().seen, seen, Surroundings())
    assert facts is not None
    assert facts.pool is not None
    assert facts.pool.room_bytes // facts.pool.each_bytes == facts.pool.n_fit
    assert [(each.pid, each.own_bytes, each.statm_bytes) for each in facts.pool.sizes] == [
        (1000, 10 * MIB, 40 * MIB)
    ]


def test_a_leak_under_load_is_a_finding_of_the_server():
    own = Member(name="shop", kind="gunicorn", command=("gunicorn", "shop:app"))
    survey = Survey(version="", readings=(reading("max_requests", "0"),))
    seen = Inspected(found=Found(member=own), survey=survey)
    growth = Growth(
        verdict="leak",
        reason=because("advice.leak", each=1024.0, ends="1 KiB … 1 KiB"),
        n_workers=4,
        n_requests=3000.0,
        late_low_bytes=1000.0,
        late_high_bytes=1048.0,
    )
    size = observed(*NGINX_SIZES)
    for told, names in ((growth, ["long-lives"]), (None, [])):
        found = findings(seen, size, measured=Measured(growth=told))
        assert [each.name for each in found if each.name == "long-lives"] == names
