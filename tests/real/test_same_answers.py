"""Configurations that answer fast and wrong: each is refused by name, none is a gain."""

import pytest
from msgspec.structs import replace

from httpdyno.experiment.decide.claim import claim
from httpdyno.experiment.method.comparison import terms_of
from httpdyno.experiment.trial.afterwards import LooksToTake
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Configuration
from httpdyno.registry import load_adapter
from httpdyno.report.shared.message import joined, texts
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.study.file import load_study

pytestmark = [pytest.mark.real_server, pytest.mark.usefixtures("no_looks")]

STUDY = """
format = 1
name = "faults"
title = "Pages that are right, or look so"

[server]
adapter = "gunicorn"
ready_path = "/ready"
effective_path = "/settings"

[server.settings]
application = "faults:application"
directory = "app"

[server.environment]
FAULT = "{{ knob.fault }}"

[[server.files]]
from = "faults.py"
to = "app/faults.py"

[[knobs]]
name = "fault"
start = "none"
levels = ["query", "cache", "coding", "pool", "database", "wears", "coded"]

[workload]
connections = 2
timeout = "2s"

[[workload.requests]]
path = "/page?x=2"

[[workload.requests]]
path = "/mine"
headers = { Cookie = "user={user}" }

[[workload.requests]]
path = "/long"
headers = { Accept-Encoding = "gzip" }

[[workload.requests]]
path = "/pool"

[[workload.requests]]
path = "/items"

[method]
window = "50ms"
lead_in = "0ms"
warm_up = "20ms"
blocks_per_start = 1
"""

APPLICATION = """
import gzip
import json
import os
import socket
import sqlite3
import tempfile
import threading
import time
from itertools import count

FAULT = os.environ["FAULT"]
folder = tempfile.mkdtemp(dir=os.getcwd())
pool = socket.socket(socket.AF_UNIX)
pool.bind(f"{folder}/pool")
pages, numbers = {}, count(1)
if FAULT != "pool":
    pool.listen(8)


def work():
    while True:
        connection, _ = pool.accept()
        connection.sendall(b"made by the pool")
        connection.close()


if FAULT != "pool":
    threading.Thread(target=work, daemon=True).start()
database = f"{folder}/items"
with sqlite3.connect(database) as items:
    items.execute("create table items (name)")
    items.execute("insert into items values ('a lamp')")
if FAULT == "database":
    database = f"{folder}/nowhere/items"


def page(environ):
    query = "x=1" if FAULT == "query" else environ["QUERY_STRING"]
    return f"the {query} page"


def mine(environ):
    key = environ["PATH_INFO"] if FAULT == "cache" else environ.get("HTTP_COOKIE")
    return pages.setdefault(key, f"of {environ.get('HTTP_COOKIE')}")


def pooled(environ):
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{folder}/pool")
            return connection.recv(100).decode()
    except OSError:
        return "come back later."


def listed(environ):
    try:
        with sqlite3.connect(database) as items:
            return ", ".join(name for name, in items.execute("select name from items"))
    except sqlite3.Error:
        return "no item"


def wears(environ):
    return "a very long page " * 50 if FAULT != "wears" or next(numbers) < 30 else "worn out"


SHOWN = {"/page": page, "/mine": mine, "/pool": pooled, "/items": listed, "/long": wears}


def application(environ, start_response):
    path = environ["PATH_INFO"]
    heads = []
    if path == "/settings":
        body = json.dumps({"fault": FAULT}).encode()
    elif path in SHOWN:
        # What no two answers have in common is no other answer.
        footer = f" at {time.time()} by {os.getpid()}"
        body = (SHOWN[path](environ) + footer).encode()
        heads = [("Vary", "Accept-Encoding")] if FAULT != "coding" else []
        if path == "/long" and FAULT in {"coding", "coded"}:
            if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", ""):
                body = gzip.compress(body)
                heads.append(("Content-Encoding", "gzip"))
    else:
        body = b"ready"
    start_response("200 OK", [("Content-Length", str(len(body))), *heads])
    return [body]
"""

REFUSED = {
    "query": "GET /page?x=2 with another body: the first difference is at byte 7: `1 page at ",
    "cache": "GET /mine as user 2 with another body: the first difference is at byte 9: `1 at ",
    "coding": "GET /long with `Content-Encoding: gzip` and without `Vary: Accept-Encoding`",
    "pool": "GET /pool with another body: the first difference is at byte 1: `come back later.",
    "database": "GET /items with another body: the first difference is at byte 1: `no item at ",
    "wears": "after its load GET /long with another body: the first difference is at byte 1: `worn",
}


@pytest.fixture
def study(tmp_path):
    (tmp_path / "faults.py").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return load_study(tmp_path, lambda name: load_adapter(name).knobs())


def test_what_answers_otherwise_is_refused_by_name_and_what_is_coded_well_is_not(
    study, monkeypatch
):
    monkeypatch.setattr(LooksToTake, "wanted", lambda *_: {})  # they take longer than all else
    arms = [study.start_configuration()]
    arms += [Configuration(values={"fault": fault}) for fault in (*REFUSED, "coded")]
    request = StartRequest(
        comparison=1,
        start=0,
        arms=tuple(arms),
        order=block_order(len(arms), 1, seed=3, comparison=1, start=0),
        window_s=study.method.window_s,
        lead_in_s=study.method.lead_in_s,
        warm_up_s=study.method.warm_up_s,
    )
    with ServerBench(adapter=TemplateStack(load_adapter("gunicorn")), study=study, seed=3) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
    start, *refused, coded = zip(record.statuses, record.details, strict=True)
    assert start == coded == ("complete", ())
    assert {status for status, _ in refused} == {"unlike"}
    for arm, (_, detail) in enumerate(refused, start=1):
        assert texts(detail)[0].startswith([*REFUSED.values()][arm - 1])
        assert "may_differ" in texts(detail)[-1]
        found = claimed(record, arm, study)
        assert (found.verdict, found.interval) == ("failed", None)
        assert joined(found.reasons).startswith("the candidate answers unlike the start: ")
    measured = {window.arm for window in record.windows}
    assert measured == {0, len(arms) - 1, [*REFUSED].index("wears") + 1}
    assert record.uncompared == ()


def claimed(record, arm, study):
    """Return what a start says of one of its arms against the first one."""
    windows = [w for w in record.windows if w.arm in {0, arm}]
    pair = replace(
        record,
        statuses=(record.statuses[0], record.statuses[arm]),
        details=(record.details[0], record.details[arm]),
        windows=tuple(replace(window, arm=int(window.arm == arm)) for window in windows),
    )
    return claim([pair], terms_of(study))
