"""Answers of a rehearsal: kept, read again, and compared with later ones."""

import gzip

import pytest
from msgspec import structs
from tests.rows import each_row
from tests.words import words

from httpdyno.errors import StudyFileError
from httpdyno.experiment.answer.ask import Answer, Question
from httpdyno.experiment.answer.likeness import (
    ANSWERS,
    Asked,
    difference_from_own,
    not_rehearsed,
    rehearsed_of,
)
from httpdyno.experiment.answer.reading import readings
from httpdyno.host.foreign_files import new_folder
from httpdyno.model import (
    Door,
    Member,
    Method,
    Objective,
    RequestSpec,
    ServerLimits,
    ServerSpec,
    SideCommand,
    Site,
    Study,
    Users,
    Workload,
)

SITE = Site(members=(Member(name="front", kind="toy", main="/srv/a.toy"),), host="a.example")
LOAD = Workload(requests=(RequestSpec(path="/x", headers=(("Accept-Encoding", "gzip"),)),))
CODED = Question(request=LOAD.requests[0])
HEAD = Question(request=RequestSpec(path="/x", method="HEAD", expect_status=None))


def answered(body=b"a page of 27 Nov, for one and all", question=CODED, **changes):
    return Answer(question=question, body=body, **{"status": 200, "kind": "text/html", **changes})


def asked(*answers):
    found = Asked(LOAD)
    found.found += answers
    return found


@pytest.fixture
def study(tmp_path):
    """An adopted study, of which two answers are kept."""
    kept = asked(
        answered(gzip.compress(b"a page of 27 Nov, for one and all"), coding="gzip"),
        answered(b"", HEAD, coding="gzip"),
        answered(b"oops", status=500),
        answered(b"no gzip", coding="gzip"),
    )
    with new_folder(tmp_path / "study") as folder:
        kept.kept(SITE, (), at="2026-11-27T10:00:00+00:00").write(folder)
    return Study(
        name="any",
        title="",
        folder=str(tmp_path / "study"),
        server=ServerSpec(adapter="site"),
        site=SITE,
        workload=LOAD,
        knobs=(),
        objective=Objective(),
        method=Method(),
        budget_s=1.0,
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (answered(), ""),
        (answered(b"a page of 28 Dec, for one and all"), ""),
        (answered(gzip.compress(b"a page of 28 Dec, for one and all"), coding="gzip"), ""),
        (answered(b"a page of 27 Nov, for none at all"), "byte 23: `none at all` in place of"),
        (answered(b"", HEAD), ""),
        (answered(b"", HEAD, kind="image/png"), "HEAD /x with another `Content-Type`"),
        (answered(status=302, question=HEAD), "HEAD /x with status 302 in place of 200"),
    ],
)
def test_what_was_kept_is_compared_as_it_was_answered(study, answer, told):
    rehearsed = rehearsed_of(study)
    assert rehearsed is not None
    found = rehearsed.likeness.drift(readings([answer], ()))
    assert told in words(found)
    assert bool(told) == bool(found)


def test_what_may_differ_is_not_compared_with_the_rehearsal_either(study):
    study = structs.replace(study, may_differ=("for .*",))
    other = answered(b"a page of 27 Nov, for nobody")
    rehearsed = rehearsed_of(study)
    assert rehearsed is not None
    assert rehearsed.likeness.drift(readings([other], study.may_differ)) is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"site": structs.replace(SITE, writes=("/srv/data",), isolation="wall")}, ""),
        ({"site": structs.replace(SITE, doors=(Door(to="unix:/run/db.sock"),))}, "another `doors`"),
        ({"site": structs.replace(SITE, host="b.example")}, "another `host`"),
        ({"workload": structs.replace(LOAD, first=(RequestSpec(path="/login"),))}, "`workload.fir"),
        ({"workload": structs.replace(LOAD, users=Users(has_cookies=True))}, "another `users`"),
        (
            {"server": ServerSpec(adapter="site", before=(SideCommand(run=("true",)),))},
            "another `prepare`",
        ),
    ],
)
def test_a_study_that_was_changed_since_is_compared_with_itself_and_that_is_said(
    study, changes, told
):
    changed = structs.replace(study, **changes)
    assert told in words(not_rehearsed(changed))
    assert (rehearsed_of(changed) is None) == bool(told) == bool(not_rehearsed(changed))


def test_limits_of_a_member_change_no_answer(study):
    limited = structs.replace(SITE.members[0], limits=ServerLimits(memory="1GiB"))
    site = structs.replace(SITE, members=(limited,))
    assert not_rehearsed(structs.replace(study, site=site)) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"rehearsed_at": 1}'])
def test_a_file_that_holds_no_answers_is_named(study, tmp_path, content):
    (tmp_path / "study" / ANSWERS).write_bytes(content)
    with pytest.raises(StudyFileError, match=ANSWERS):
        rehearsed_of(study)


def test_a_body_that_cannot_be_read_is_named(study, tmp_path):
    file = tmp_path / "study" / ANSWERS
    file.write_bytes(file.read_bytes().replace(b'"body":"', b'"body":"AAAA'))
    with pytest.raises(StudyFileError, match="a body that cannot be read"):
        rehearsed_of(study)


def test_without_a_rehearsal_there_is_nothing_to_compare_with(study, tmp_path):
    (tmp_path / "study" / ANSWERS).unlink()
    assert (rehearsed_of(study), not_rehearsed(study)) == (None, None)


@each_row(
    ("copy", "own", "told"),
    [
        ([answered()] * 2, [answered()] * 2, ""),
        ([answered()] * 2, [answered(b"a page of 27 Nov, for one and ALL")] * 2, "byte 31: `all`"),
        ([answered()] * 2, [answered(status=404)] * 2, "with status 200 in place of 404"),
        ([answered(status=502)] * 2, [answered()] * 2, ""),
        ([answered()] * 2, [answered(b"one"), answered(b"two three")], ""),
        ([answered(b"one", HEAD)], [answered()], ""),
    ],
)
def test_a_copy_is_what_its_server_answers(copy, own, told):
    found = difference_from_own(asked(*copy), asked(*own))
    assert told in words(found)
    assert bool(told) == bool(found)
