"""Servers that are asked whether they answer the same."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, cast

import pytest
from msgspec.structs import replace

from httpdyno.experiment.answer.ask import Answer, Question
from httpdyno.experiment.answer.likeness import Asked, UnlikeRehearsalError
from httpdyno.experiment.trial.arm import Arm
from httpdyno.experiment.trial.same_answers import Sameness
from httpdyno.host.foreign_files import new_folder
from httpdyno.model import (
    Configuration,
    Effective,
    Knob,
    Method,
    Objective,
    RequestSpec,
    ServerSpec,
    Site,
    Study,
    Users,
    Workload,
)
from httpdyno.report.shared.message import error_text, joined, texts

START, OTHER = Configuration(values={"n": 0}), Configuration(values={"n": 1})
STUDY = Study(
    name="any",
    title="",
    folder=".",
    server=ServerSpec(adapter="any"),
    knobs=(Knob(name="n", start=0, levels=(1,)),),
    workload=Workload(requests=(RequestSpec(path="/x"),)),
    objective=Objective(),
    method=Method(),
    budget_s=1.0,
)


class Server:
    """Answers what a function of the request's headers says, with a cookie where it names one."""

    networks = ()

    def __init__(self, page):
        self.asked: Counter[str] = Counter()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                served.asked[self.path] += 1
                text, *cookies = page(self.headers) if callable(page) else (page,)
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                for cookie in cookies:
                    self.send_header("Set-Cookie", f"sid={cookie}; Path=/")
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - as the base class calls them

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addresses = (f"127.0.0.1:{self._http.server_port}",)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def await_ready(self, _timeout_s):
        return Effective()

    def stop(self):
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def serve():
    servers = []

    def served(page):
        servers.append(Server(page))
        return servers[-1]

    yield served
    for server in servers:
        server.stop()


def spawned(page: object) -> Any:
    return Server(page)


def never(_configuration):
    raise AssertionError("nothing is doubted")


def test_all_are_asked_as_often_and_what_is_alike_stays(serve):
    arms = [Arm(running=serve("a page")) for _ in range(4)]
    same = Sameness(STUDY, never)
    same.before_load((START, OTHER), [arms[:2], arms[2:]])
    same.after_load((START, OTHER), [arms[:2], arms[2:]])
    assert [arm.status for arm in arms] == ["complete"] * 4
    assert [cast(Any, arm.running).asked["/x"] for arm in arms] == [3] * 4


def rehearsed(folder, *pages):
    """Return an adopted study whose rehearsed copy answered so."""
    answers = Asked(STUDY.workload)
    question = Question(request=STUDY.workload.requests[0])
    answers.found += [Answer(question=question, status=200, body=page.encode()) for page in pages]
    site = Site(members=())
    with new_folder(folder / "study") as study:
        answers.kept(site, (), at="2026-11-27T10:00:00").write(study)
    return replace(STUDY, site=site, folder=str(folder / "study"))


def test_a_start_that_is_not_as_rehearsed_ends_the_run_before_anything_is_timed(serve, tmp_path):
    study = rehearsed(tmp_path, "<p>all 12 rows</p>")
    arms = [Arm(running=serve("not writable")) for _ in range(2)]
    same = Sameness(study, lambda _: spawned("not writable"))
    with pytest.raises(UnlikeRehearsalError) as refused:
        same.before_load((START, START), [arms])
    assert error_text(refused.value) == (
        "wrong response: a copy of any answers otherwise than in its smoke test of 2026-11-27: "
        "GET /x with another body: the first difference is at byte 1: `not writable` in place of "
        "`<p>all 12 rows</p>`"
    )
    assert "may_differ" in refused.value.hint
    # Each twice, as without a rehearsal, and once more before it is refused.
    assert [cast(Any, arm.running).asked["/x"] for arm in arms] == [3, 3]


def test_a_later_start_that_is_not_as_rehearsed_fails_alone(serve, tmp_path):
    pages = {"now": "<p>all 12 rows</p>"}
    same = Sameness(rehearsed(tmp_path, "<p>all 12 rows</p>"), lambda _: spawned(pages["now"]))
    for page, statuses in (
        ("<p>all 13 rows</p>", ["complete", "complete"]),
        ("<p>no rows at all, sorry</p>", ["unlike", "unlike"]),
    ):
        pages["now"] = page
        arms = [Arm(running=serve(page)) for _ in range(2)]
        same.before_load((START, START), [arms])
        assert [arm.status for arm in arms] == statuses
    assert "answers otherwise than in its smoke test of 2026-11-27" in joined(arms[0].detail)


def test_what_differs_from_life_to_life_refuses_no_start(serve, tmp_path):
    lives = iter(("two", "three", "four"))
    same = Sameness(
        rehearsed(tmp_path, "life one of all"), lambda _: spawned(f"life {next(lives)} of all")
    )
    arms = [Arm(running=serve(f"life {next(lives)} of all"))]
    same.before_load((START,), [arms])
    assert arms[0].status == "complete"


def test_a_page_of_another_kind_after_the_load_is_none_that_load_makes(serve, tmp_path):
    page = "all of it, " * 100
    pages = {"now": page}
    arms = [Arm(running=serve(lambda _: (pages["now"],)))]
    same = Sameness(rehearsed(tmp_path, page), never)
    same.before_load((START,), [arms])
    pages["now"] = f"{page}, and a hit"
    same.after_load((START,), [arms])
    assert arms[0].status == "complete"
    pages["now"] = "out of order"
    same.after_load((START,), [arms])
    assert "after its load GET /x with a body of another kind: 12 bytes" in joined(arms[0].detail)


def test_what_differs_from_one_start_to_the_next_refuses_nobody_and_all_else_does(serve):
    lives = count(1)

    def life(words):
        number = next(lives)
        return serve(f"{words} by number {number}, all of it")

    arms = [Arm(running=life(words)) for words in ("made", "made", "faked")]
    same = Sameness(STUDY, lambda _: spawned(f"made by number {next(lives)}, all of it"))
    faked = Configuration(values={"n": 2})
    same.before_load((START, OTHER, faked), [arms])
    assert [arm.status for arm in arms] == ["complete", "complete", "unlike"]
    assert "byte 1: `faked by number 3, all of it` in place of `made by" in joined(arms[2].detail)
    assert texts(same.varied()) == (
        "GET /x: of 14 words of its body 1 may differ, as in `1` and `4`",
    )


def test_a_session_that_two_users_get_is_another_answer(serve):
    sessions = count(10**9)
    study = replace(STUDY, workload=replace(STUDY.workload, users=Users(has_cookies=True)))
    own = serve(lambda _: ("hello", next(sessions)))
    arms = [Arm(running=own), Arm(running=serve(lambda _: ("hello", 123456789)))]
    same = Sameness(study, lambda _: spawned(lambda _: ("hello", next(sessions))))
    same.before_load((START, OTHER), [arms])
    assert arms[0].status == "complete"
    assert joined(arms[1].detail).startswith(
        "GET /x as user 2 with another `Set-Cookie`: `sid=123456789; Path=/` in place of `sid={cook"
    )


def test_pages_that_the_load_changes_at_the_start_too_are_left_out_and_others_are_not(serve):
    pages = {"start": "a page", "other": "a page"}
    arms = [Arm(running=serve(lambda _, name=name: (pages[name],))) for name in pages]
    same = Sameness(STUDY, lambda _: spawned("a page"))
    same.before_load((START, OTHER), [arms])
    pages.update(start="a page of two hits", other="a page of nine hits")
    same.after_load((START, OTHER), [arms])
    assert arms[1].status == "complete"
    pages["start"] = "a page"
    same.after_load((START, OTHER), [arms])
    assert joined(arms[1].detail).startswith("after its load GET /x with another body")


def test_requests_that_change_what_is_kept_are_not_asked_after_the_load(serve):
    posted = Workload(requests=(RequestSpec(path="/x", method="POST", body="a=1"),))
    arms = [Arm(running=serve("a page")) for _ in range(2)]
    same = Sameness(replace(STUDY, workload=posted), never)
    same.before_load((START, OTHER), [arms])
    same.after_load((START, OTHER), [arms])
    assert [cast(Any, arm.running).asked["/x"] for arm in arms] == [2, 2]
