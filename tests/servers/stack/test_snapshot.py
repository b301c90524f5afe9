import stat

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_files import Rights, new_folder
from httpdyno.model import Member, Survey
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import RECORD, Found, load_snapshot, take_snapshot

FRONT = Member(name="front", kind="nginx", main="/etc/nginx/nginx.conf")
FILES = MemberFiles(
    texts={"/etc/nginx/nginx.conf": b"user \xff;\n", "/etc/nginx/sites/a": b""},
    real={"/etc/nginx/sites/a": "/srv/a.conf"},
    rights={
        "/etc/nginx/nginx.conf": Rights(user_id=0, group_id=33, mode=0o640),
        "/etc/nginx/sites/a": Rights(user_id=1000, group_id=1000, mode=0o444),
    },
    unreadable=("/etc/ssl/key.pem",),
    stand_ins={"/etc/ssl/key.pem": b"a new one"},
    patterns=("/etc/nginx/sites/*",),
    served=("/srv/www",),
)
FOUND = Found(member=FRONT, files=FILES, survey=Survey(version="nginx/1.22.1"))


def taken(folder, *found):
    with new_folder(folder) as made:
        take_snapshot(made, found, taken_at="2026-01-01T00:00:00+00:00")
    return folder


@pytest.fixture
def folder(tmp_path):
    return taken(tmp_path / "snapshot", FOUND)


def test_what_was_taken_is_read_again(folder):
    snapshot = load_snapshot(folder, [FRONT])
    assert snapshot.members == {"front": FOUND}
    assert snapshot.texts() == FILES.texts
    assert snapshot.real_path("/etc/nginx/sites/a") == "/srv/a.conf"
    assert snapshot.real_path("/etc/nginx/nginx.conf") == "/etc/nginx/nginx.conf"


def of_texts(**texts):
    return Found(member=FRONT, files=MemberFiles(**texts), survey=FOUND.survey)


def test_whose_a_file_was_is_not_made_up(tmp_path):
    unknown = of_texts(texts={"/a": b""})
    assert load_snapshot(taken(tmp_path / "s", unknown), [FRONT]).members == {"front": unknown}


def test_no_path_of_theirs_leads_out_of_the_snapshot(tmp_path):
    texts = {"/../../out": b"a", "/etc/../../../../x/../out2": b"b", "/etc//./a": b"c"}
    found = of_texts(texts=texts, stand_ins={"/ssl/../../../key": b"d"})
    folder = taken(tmp_path / "s", found)
    assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == {
        *("files/out", "files/out2", "files/etc/a", "stand-ins/key", RECORD)
    }
    assert load_snapshot(folder, [FRONT]).members == {"front": found}
    assert {path.name for path in tmp_path.iterdir()} == {"s"}


@pytest.mark.parametrize("texts", [{"/a": b"1", "/b/../a": b"2"}, {"a": b""}, {"/": b""}])
def test_what_names_no_file_of_its_own_is_not_taken(tmp_path, texts):
    with pytest.raises(OSError, match=r"changed while|no whole path"):
        taken(tmp_path / "s", of_texts(texts=texts))


def test_no_link_in_a_snapshot_is_followed(folder):
    (folder.parent / "theirs").mkdir()
    (folder.parent / "theirs/a").write_bytes(b"")
    (folder / "files/etc/nginx/sites/a").unlink()
    (folder / "files/etc/nginx/sites").rmdir()
    (folder / "files/etc/nginx/sites").symlink_to(folder.parent / "theirs")
    with pytest.raises(StudyFileError, match="lacks"):
        load_snapshot(folder, [FRONT])


def test_nobody_else_may_read_it(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("file", ["files/etc/nginx/nginx.conf", "stand-ins/etc/ssl/key.pem"])
def test_a_file_that_was_changed_is_refused(folder, file):
    (folder / file).write_bytes(b"user other;\n")
    with pytest.raises(StudyFileError, match="not what it was"):
        load_snapshot(folder, [FRONT])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "files/etc/nginx/sites/a").unlink(), "lacks"),
        (lambda folder: (folder / "stand-ins/etc/ssl/key.pem").unlink(), "lacks"),
        (lambda folder: (folder / RECORD).unlink(), "cannot be read"),
        (lambda folder: (folder / RECORD).write_bytes(b"{"), "is no snapshot"),
        (
            lambda folder: (folder / RECORD).write_bytes(
                (folder / RECORD).read_bytes().replace(b'"format": 1', b'"format": 9')
            ),
            "format 9",
        ),
    ],
)
def test_a_snapshot_that_is_not_whole_is_refused(folder, spoil, words):
    spoil(folder)
    with pytest.raises(StudyFileError, match=words):
        load_snapshot(folder, [FRONT])


def test_a_member_that_it_does_not_have_is_refused(folder):
    with pytest.raises(StudyFileError, match="no php-fpm called `php`"):
        load_snapshot(folder, [Member(name="php", kind="php-fpm")])
