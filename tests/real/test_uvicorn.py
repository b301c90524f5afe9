"""uvicorn for real, against the conformance suite and its own peculiarities."""

import importlib.util

import pytest
from msgspec.structs import replace
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance, complaint_of

from httpdyno.model import Configuration, Effective, ServerSpec
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.uvicorn import Uvicorn

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("uvicorn", "uvloop", "httptools")),
        reason="needs uvicorn, uvloop and httptools of the dev extra",
    ),
]

APPLICATION = """
import json, os, time

time.sleep(float(os.environ.get("SLOW", "0")))

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind.endswith("shutdown"):
                return
    body = json.dumps({"cache": os.environ["CACHE"]}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "shop.py").write_text(APPLICATION)
    return AdapterCase(
        adapter=Uvicorn(),
        spec=ServerSpec(
            adapter="uvicorn",
            folder="shop",
            settings={"application": "shop:app", "arguments": "--workers 7 --backlog=99"},
            environment={"CACHE": "{knob.cache}"},
            effective_path="/settings",
        ),
        study_folder=tmp_path,
        configuration=Configuration(
            values={"workers": 2, "loop": "asyncio", "http": "h11", "cache": "big"}
        ),
        nonsense=Configuration(values={"log_level": "loud", "cache": "big"}),
        words="'loud' is not one of",
    )


class TestUvicorn(AdapterConformance):
    pass


def started(case, values, spec=None):
    with new_run_root() as root:
        running = case.stack.spawn(
            spec or case.spec,
            case.study_folder,
            Configuration(values={"cache": "big", "workers": 1, **values}),
            root.new_place("own"),
        )
        assert not isinstance(running, NotRunning), text(running.detail)
        try:
            return running.await_ready(READY_S)
        finally:
            running.stop()


@pytest.mark.parametrize(
    ("loop", "http", "seen"),
    [
        ("uvloop", "h11", ("uvloop", "h11")),
        ("asyncio", "httptools", ("asyncio", "httptools")),
        ("auto", "auto", ("uvloop", "httptools")),
    ],
)
def test_loop_and_parser_are_seen_in_its_processes(case, loop, http, seen):
    effective = started(case, {"loop": loop, "http": http})
    assert isinstance(effective, Effective), effective
    assert (effective.values["loop"], effective.values["http"]) == seen


def test_levels_win_over_the_flags_of_their_own(case):
    effective = started(case, {"workers": 3})
    assert effective.values["workers"] == effective.asked["workers"] == "3"
    assert effective.values["backlog"] == "99"
    assert started(case, {"backlog": 55}).values["backlog"] == "55"


def test_all_workers_are_waited_for(case):
    spec = replace(case.spec, environment={**case.spec.environment, "SLOW": "0.3"})
    effective = started(case, {"workers": 3}, spec)
    assert isinstance(effective, Effective), effective
    assert effective.values["workers"] == "3"


def test_a_backlog_that_the_kernel_clips_is_no_success(case):
    answer = started(case, {"backlog": 65_535})
    assert isinstance(answer, NotRunning)
    assert "where 65535 was asked" in text(answer.detail)


def test_an_application_that_is_not_there_is_refused_in_its_words(case):
    spec = replace(case.spec, settings={"application": "nowhere:app"})
    answer = started(case, {}, spec)
    assert isinstance(answer, NotRunning)
    assert "nowhere" in text(answer.detail)


def test_what_cannot_work_is_known_before(case):
    spec = replace(case.spec, settings={"application": "shop:app", "python": "/bin/true"})
    wrong = complaint_of(case.adapter, spec, case.study_folder, case.configuration)
    assert wrong.startswith("uvicorn is not installed for `/bin/true`")
    assert complaint_of(case.adapter, case.spec, case.study_folder, case.configuration) == ""
