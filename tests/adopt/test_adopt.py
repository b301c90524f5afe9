"""A toy site adopted: what is written, what is refused, and that nothing of it is touched."""

import json
import os
import re
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from msgspec import structs
from tests.rows import each_row
from tests.says import says
from tests.servers.stack.toy import Toy

from httpdyno.adopt.adopt import Request, adopt, check_new, check_wanted, site_of
from httpdyno.adopt.discover import gather, with_listener
from httpdyno.adopt.smoke_test import _not_up, folders_of
from httpdyno.adopt.study_text import Offer, StudyText, offered
from httpdyno.adopt.suggest import Wanted
from httpdyno.advice.proposal import Proposals
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.answer.ask import accepted, questions
from httpdyno.experiment.answer.likeness import ANSWERS, KeptAnswers, not_rehearsed
from httpdyno.experiment.design.plan import make_plan
from httpdyno.model import Member, SideCommand, Site, Survey
from httpdyno.reason import because
from httpdyno.report.shared.message import hint_text, text
from httpdyno.servers.adapter import NotRunning, exited, with_words
from httpdyno.servers.stack.copies import CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, load_snapshot
from httpdyno.study.file import load_study

TOY = {"toy": Toy()}

in_cells = pytest.mark.skipif(os.geteuid() != 0, reason="the cell is made by root here")


@pytest.fixture
def theirs(tmp_path):
    (tmp_path / "site/data").mkdir(parents=True)
    file = tmp_path / "site/main.toy"
    file.write_text(f"answer = 1\nport = 8080\nwrites = {tmp_path / 'site/data'}\n")
    return file


def cells():
    maker = seat_maker("auto")
    assert not isinstance(maker, str), maker
    return maker


def adopted(file, folder, *paths, levels=("2", "3"), burst_s=0.0, before=()):
    gathered = gather([Member(name="front", kind="toy", main=str(file))], TOY, None)
    offer = offered(paths=paths, url_file=None, ready_path="/", connections=None, is_tls=False)
    wanted = Wanted(levels={"front:answer": levels} if levels else {}, n_cpus=2)
    request = Request(
        folder=folder,
        site=Site(members=()),
        offer=offer,
        ready_path="/",
        ready_status=None,
        budget_s=90.0,
        before=before,
        burst_s=burst_s,
        wanted=wanted,
    )
    told: list[str] = []
    return adopt(gathered, request, TOY, cells(), tell=lambda why: told.append(text(why))), told


def infos(site, folder):
    snapshot = load_snapshot(folder / site.snapshot, site.members)
    return CopyStack(site, snapshot, TOY, because("adopt.only_looked_at")).knobs()


@in_cells
def test_the_study_that_is_written_is_one(theirs, tmp_path):
    result, told = adopted(theirs, tmp_path / "shop", "/", "/write")
    assert told[0].endswith("2 of 2 requests answered right")
    study = load_study(tmp_path / "shop", lambda _: {}, infos)
    assert study.title == "toy.example, as toy serves it"
    assert study.site is not None
    assert study.site.listener == "0.0.0.0:8080"
    assert study.budget_s == 90.0
    assert study.objective.metric == "throughput_per_s"
    assert study.objective.tie_breaker == "cpu_s_per_request"
    assert [(k.name, k.start, k.levels, k.cost) for k in study.knobs] == [
        ("front:answer", "1", ("2", "3"), "restart")
    ]
    sent = (("Accept-Encoding", accepted()), ("Host", "toy.example"))
    assert [(r.path, r.headers) for r in study.workload.requests] == [("/", sent), ("/write", sent)]
    assert (tmp_path / "shop/snapshot/files" / str(theirs)[1:]).read_bytes() == theirs.read_bytes()
    assert result.n_files == 1


@in_cells
def test_what_is_measured_is_described_as_what_was_rehearsed(theirs, tmp_path):
    folder = tmp_path / "shop"
    result, _ = adopted(theirs, folder, "/", before=(SideCommand(run=("true", "it's")),))
    study = load_study(folder, lambda _: {}, infos)
    assert study.site == result.site
    assert not_rehearsed(study) is None
    [found] = gather([Member(name="front", kind="toy", main=str(theirs))], TOY, None).members
    assert load_snapshot(folder / "snapshot", result.site.members).members == {"front": found}
    kept = msgspec.json.decode((folder / ANSWERS).read_bytes(), type=KeptAnswers)
    assert (kept.site, kept.before) == (study.site, study.server.before)
    modes = {each.stat().st_mode & 0o777: each.is_dir() for each in (folder, *folder.rglob("*"))}
    assert modes == {0o700: True, 0o600: False}
    asked = questions(study.workload, study.workload.requests)
    assert {each.answer.question.bare for each in kept.answers} == {each.bare for each in asked}


@in_cells
def test_a_rehearsal_says_what_was_not_answered_as_it_should(theirs, tmp_path):
    result, told = adopted(theirs, tmp_path / "shop", "/", "/missing")
    assert told[0].endswith("1 of 2 requests answered right")
    assert [(e.path, e.status) for e in result.report.wrong] == [("/missing", 404)]
    report = json.loads((tmp_path / "shop/rehearsal.json").read_text())
    assert [each["is_expected"] for each in report["answered"]] == [True, False]
    assert report["isolation"] == "cell"


@in_cells
def test_what_the_copy_tried_to_reach_is_named(theirs, tmp_path):
    result, _ = adopted(theirs, tmp_path / "shop", "/", "/call")
    assert result.report.refused == ("tcp 10.0.0.5:5432",)


@in_cells
def test_what_the_copy_wrote_in_the_home_of_root_is_named(theirs, tmp_path):
    with TemporaryDirectory(prefix="unsaid-", dir="/root") as home:
        theirs.write_text(f"{theirs.read_text()}unsaid = {home}\n")
        result, _ = adopted(theirs, tmp_path / "shop", "/", "/unsaid")
        assert f"{home}/written" in result.report.written
        assert not list(Path(home).iterdir())


@in_cells
def test_without_requests_the_ready_path_is_asked_for_and_called_a_guess(theirs, tmp_path):
    adopted(theirs, tmp_path / "shop")
    text = (tmp_path / "shop/study.toml").read_text()
    assert "# A guess: nobody said what clients ask for." in text
    assert [r["path"] for r in tomllib.loads(text)["workload"]["requests"]] == ["/"]


@in_cells
def test_where_nothing_is_proposed_its_study_is_written_and_what_can_be_named_is_said(
    theirs, tmp_path
):
    result, _ = adopted(theirs, tmp_path / "shop", "/", levels=())
    assert "`--knob NAME=LEVEL,…`: there are front:answer" in text(result.remarks[-1])
    study = load_study(tmp_path / "shop", lambda _: {}, infos)
    assert study.knobs == ()
    assert make_plan(study, seed=1).steps == ()


@in_cells
def test_a_level_that_is_found_already_is_none(theirs, tmp_path):
    result, _ = adopted(theirs, tmp_path / "shop", "/", levels=("1", "2"))
    assert [each.levels for each in result.proposals.tried] == [("2",)]
    with pytest.raises(UsageError, match="`front:answer` is 1 already"):
        adopted(theirs, tmp_path / "again", "/", levels=("1",))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(levels={"colour": ("red",)}), "the site has no knob `front:colour`"),
        (Wanted(left_out=("front:colour",)), "the site has no knob `front:colour`"),
        (Wanted(levels={"answer": ("1",)}), "`front:answer` is 1 already"),
    ],
)
def test_what_cannot_be_tried_is_said_before_anything_runs(theirs, wanted, words):
    gathered = gather([Member(name="front", kind="toy", main=str(theirs))], TOY, None)
    with pytest.raises(UsageError, match=words):
        check_wanted(gathered, wanted, TOY)
    check_wanted(gathered, Wanted(levels={"answer": ("2",)}), TOY)


@in_cells
def test_what_a_copy_tried_that_does_not_come_up_is_told(theirs, tmp_path):
    text = theirs.read_text().replace("answer = 1", "answer = none")
    theirs.write_text(f"{text}calls = 10.0.0.5\n")
    with pytest.raises(
        AdapterError, check=says(r"it tried what a copy may not: tcp 10\.0\.0\.5:5432$")
    ):
        adopted(theirs, tmp_path / "shop", "/")


@in_cells
def test_a_copy_that_does_not_come_up_leaves_no_study(theirs, tmp_path):
    theirs.write_text(theirs.read_text().replace("answer = 1", "answer = none"))
    with pytest.raises(
        AdapterError, check=says("does not come up as found: toy: answer is no number")
    ):
        adopted(theirs, tmp_path / "shop", "/")
    assert not (tmp_path / "shop").exists()


def test_a_folder_that_is_there_is_never_written_over(tmp_path):
    with pytest.raises(UsageError, match="is there already"):
        check_new(tmp_path)


def test_the_first_plain_listener_and_its_name_are_the_sites(theirs):
    gathered = gather([Member(name="front", kind="toy", main=str(theirs))], TOY, None)
    site = site_of(gathered, Site(members=()))
    assert (site.listener, site.host) == ("0.0.0.0:8080", "toy.example")


@each_row(
    ("written", "ignored", "expected"),
    [
        (["/a/b/c", "/a/b/d/e", "/f/g"], [], ("/a/b", "/f")),
        (["/run/x.pid", "/srv/data/1"], ["/run"], ("/srv/data",)),
        (["/running/x"], ["/run"], ("/running",)),
        ([], [], ()),
    ],
)
def test_the_smallest_folders_that_hold_what_was_written(written, ignored, expected):
    assert folders_of(written, ignored) == expected


def test_what_its_copies_need_besides_stands_in_the_study():
    own = {"A": 'say "1"', "PATH": "/srv/bin"}
    member = Member(
        name="shop", kind="command", command=("shop",), environment=own, ready_timeout_s=45
    )
    text = StudyText(
        name="shop",
        title="shop",
        about="",
        site=Site(members=(member,), listener="8080"),
        ready_path="/",
        ready_status=None,
        offer=Offer(requests=(), connections=1),
        proposals=Proposals(tried=(), listed=()),
        infos={},
        budget_s=60,
    )
    table = tomllib.loads(text.written())["site"]["members"][0]
    assert (table["environment"], table["ready_timeout"]) == (own, "45s")


@in_cells
class TestWhereAProgramListens:
    """One whose files do not say it: it is started, and seen."""

    @staticmethod
    def found(theirs, lines=""):
        theirs.write_text(theirs.read_text() + lines)
        member = Member(name="front", kind="toy", main=str(theirs))
        files = TOY["toy"].read(member)
        survey = TOY["toy"].survey(member, files, None)
        assert isinstance(survey, Survey)
        return Found(member=member, files=files, survey=structs.replace(survey, listeners=()))

    def test_the_one_port_that_it_opens_is_seen(self, theirs):
        seen = with_listener(self.found(theirs), TOY, cells())
        assert [each.address for each in seen.survey.listeners] == ["0.0.0.0:8080"]

    def test_one_that_ends_says_why(self, theirs):
        theirs.write_text(theirs.read_text().replace("answer = 1", "answer = none"))
        with pytest.raises(
            AdapterError,
            check=says("not listen anywhere yet, and it exited with code 1: toy: answer"),
        ):
            with_listener(self.found(theirs), TOY, cells())

    def test_who_opens_no_port_listens_at_its_unix_socket(self, theirs):
        path = theirs.parent / "data/front.sock"
        seen = with_listener(self.found(theirs, f"unix = {path}\n"), TOY, cells())
        assert [each.address for each in seen.survey.listeners] == [f"unix:{path}"]

    def test_it_is_waited_for_as_long_as_was_said_and_no_longer(self, theirs):
        theirs.write_text(theirs.read_text() + "calls = 192.0.2.1\n")
        found = self.found(theirs)
        slow = structs.replace(found.member, ready_timeout_s=0.05)
        found = Found(member=slow, files=found.files, survey=found.survey)
        with pytest.raises(UsageError, match=r"listened nowhere within 0\.05 s") as failed:
            with_listener(found, TOY, cells())
        assert "`--start-timeout 1m` waits longer" in (failed.value.hint or "")

    def test_several_ports_are_named_and_one_must_be_chosen(self, theirs):
        with pytest.raises(UsageError, match=r"0\.0\.0\.0:8080, 0\.0\.0\.0:8081"):
            with_listener(self.found(theirs, "second = 8081\n"), TOY, cells())


def silent(code, **more):
    why = because("servers.no_answer_within", path="/", timeout_s=20, why=because(code, **more))
    return with_words(why, "its last words")


@each_row(
    ("status", "detail", "way_out"),
    [
        ("hung", silent("servers.timed_out"), "`--start-timeout 1m` waits longer"),
        ("hung", silent("servers.hung_up"), "name one where HTTP is spoken"),
        ("hung", silent("servers.no_http", begins="b'220 mail'"), "name one where HTTP is spoken"),
        ("crashed", exited(1, ""), "what does not start as it is cannot be tuned"),
    ],
)
def test_a_copy_that_does_not_come_up_is_told_with_what_helps(status, detail, way_out):
    error = _not_up(NotRunning(status=status, detail=detail), [])
    assert says(re.escape(text(detail)))(error)
    assert way_out in hint_text(error)
