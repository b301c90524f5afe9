"""Whose study it is, whether it was asked about, and what is run of one that others may change."""

import grp
import json
import os
import pty
import pwd
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from msgspec.structs import replace
from tests.words import words

from httpdyno.cli import trusted_study
from httpdyno.cli.app import run
from httpdyno.cli.trusted_study import open_to_run, to_go_on
from httpdyno.errors import StoreError, StudyFileError, UsageError
from httpdyno.reason import Reason
from httpdyno.study.trust import held, owner
from httpdyno.study.trust.named import named_outside
from httpdyno.study.trust.owner import doubt_of

STUDY = """
format = 2
name = "shop"
title = "A shop"
[server]
adapter = "command"
command = ["/bin/false", "{port}", "{knob.k}"]
[[knobs]]
name = "k"
start = "a"
levels = ["b"]
[workload]
[[workload.requests]]
path = "/"
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(autouse=True)
def unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test answer for another one."""
    monkeypatch.setenv("HTTPDYNO_TRUSTED", "")


@pytest.fixture
def folder(own_folders: Path) -> Path:
    """A study of this user's."""
    made = own_folders / "shop"
    (made / "app").mkdir(parents=True)
    made.chmod(0o755)
    (made / "study.toml").write_text(STUDY)
    (made / "app" / "page.py").write_text("1")
    return made


@pytest.mark.parametrize(
    ("path", "mode", "told"),
    [
        ("", 0o755, ""),
        ("", 0o777, "everybody may write `{}`"),
        ("", 0o1777, "everybody may write `{}`"),
        ("study.toml", 0o666, "everybody may write `{}`"),
        ("study.toml", 0o444, ""),
        ("app", 0o757, "everybody may write `{}`"),
        ("app/page.py", 0o646, "everybody may write `{}`"),
        ("..", 0o777, "everybody may write `{}`"),
        ("..", 0o1777, ""),
    ],
)
def test_who_may_write_any_of_it_is_doubted(folder, path, mode, told):
    changed = Path(os.path.normpath(folder / path))
    changed.chmod(mode)
    assert words(doubt_of(folder)) == told.format(changed)


@as_root
@pytest.mark.parametrize("path", ["", "study.toml", "app", "app/page.py", "link"])
def test_what_another_user_owns_is_doubted(folder, path):
    (folder / "link").symlink_to("/bin/sh")
    assert doubt_of(folder) is None
    os.chown(folder / path, 1, -1, follow_symlinks=False)
    assert words(doubt_of(folder)) == f"`{folder / path}` is daemon's"


@as_root
@pytest.mark.parametrize(("group", "is_doubted"), [(0, False), (1, True)])
def test_a_group_of_ones_own_is_nobody_else(folder, group, is_doubted):
    os.chown(folder / "app", 0, group)
    (folder / "app").chmod(0o775)
    assert bool(doubt_of(folder)) is is_doubted


@pytest.mark.parametrize(
    ("primary", "name", "members", "is_own"),
    [
        (7000, "ann", [], True),
        (7000, "ann", ["ann"], True),
        (7000, "ann", ["bob"], False),
        (7000, "users", [], False),
        (100, "ann", [], False),
    ],
)
def test_whose_own_a_group_is(monkeypatch, primary, name, members, is_own):
    user = pwd.struct_passwd(("ann", "x", os.geteuid(), primary, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(
        grp, "getgrgid", lambda number: grp.struct_group((name, "x", number, members))
    )
    owner._is_own_group.cache_clear()
    try:
        assert owner._is_own_group(7000) is is_own
    finally:
        owner._is_own_group.cache_clear()


def test_ones_own_study_and_the_bundled_ones_are_run_without_a_word(folder):
    assert open_to_run(str(folder), is_trusted=False).folder == str(folder)
    assert open_to_run("bookmarks", is_trusted=False).name == "bookmarks"


@pytest.mark.parametrize("way", ["link", "link/../shop"])
def test_what_a_link_led_to_when_it_was_looked_at_is_what_is_opened(folder, monkeypatch, way):
    theirs = folder.parent / "theirs" / "shop"
    shutil.copytree(folder, theirs)
    theirs.chmod(0o777)
    link = folder.parent / "link"
    link.symlink_to(folder)

    def looked_at(path: Path) -> Reason | None:
        doubt = doubt_of(path)
        link.unlink()
        link.symlink_to(theirs)
        return doubt

    monkeypatch.setattr(trusted_study, "doubt_of", looked_at)
    study = open_to_run(str(folder.parent / way), is_trusted=False)
    assert study.folder == str(folder)
    link.unlink()
    link.symlink_to(folder)
    stored = replace(study, folder=str(link))
    assert to_go_on(stored, is_trusted=False).folder == str(folder)


def test_a_study_of_others_is_refused_where_nobody_can_be_asked(folder, capsys, own_folders):
    folder.chmod(0o777)
    for command in ("tune", "study check", "study serve", "study run"):
        assert run([*command.split(), str(folder)]) == 2
        error, _, hint = capsys.readouterr().err.splitlines()
        assert error == (
            f"error: study `{folder}` is not run before you trust it: everybody may write "
            f"`{folder}`"
        )
        assert "`httpdyno study show" in hint
        assert "`--trust`" in hint
    assert run(["compare", str(folder), "--b", "k=b"]) == 2
    # Nothing is kept of what was not trusted.
    assert list((own_folders / "data" / "trusted").glob("*/study.toml")) == []


def test_what_was_trusted_is_run_from_a_copy_until_it_changes(folder):
    folder.chmod(0o777)
    first = open_to_run(str(folder), is_trusted=True)
    copy = Path(first.folder)
    assert copy != folder
    assert doubt_of(copy) is None
    assert (copy / "app" / "page.py").read_text() == "1"
    assert open_to_run(str(folder), is_trusted=False).folder == first.folder
    # What is changed now is not what is run.
    (folder / "app" / "page.py").write_text("2")
    assert (copy / "app" / "page.py").read_text() == "1"
    (folder / "new").touch()
    forget_answer()
    with pytest.raises(
        UsageError, match=r"`app/page.py` was changed, `new` is new since you trusted it"
    ):
        open_to_run(str(folder), is_trusted=False)
    second = open_to_run(str(folder), is_trusted=True)
    assert (Path(second.folder) / "app" / "page.py").read_text() == "2"


def forget_answer() -> None:
    os.environ["HTTPDYNO_TRUSTED"] = ""


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "app" / "page.py").chmod(0o755),
        lambda folder: (folder / "app" / "page.py").rename(folder / "app" / "other.py"),
        lambda folder: (folder / "link").symlink_to("app"),
        lambda folder: (folder / "empty").mkdir(),
    ],
)
def test_each_change_is_another_digest(folder, change):
    folder.chmod(0o777)
    open_to_run(str(folder), is_trusted=True)
    forget_answer()
    change(folder)
    with pytest.raises(UsageError, match="is not run before you trust it"):
        open_to_run(str(folder), is_trusted=False)


def write_command(folder: Path, word: str) -> None:
    (folder / "study.toml").write_text(STUDY.replace("/bin/false", word))
    folder.chmod(0o777)


@pytest.mark.parametrize(
    ("word", "is_copied"),
    [
        ("{0}/shared/program", True),
        ("{0}/shared/made-later", True),
        ("{0}/shared/fifo", True),
        ("{0}/shared/link", True),
        ("--config={0}/shared/program", True),
        ("-I{0}/shared", True),
        ("exec {0}/shared/program", True),
        ("../shared", False),
        ("./../shared", False),
        ("app/../../shared", False),
        ("here/../../shared", False),
        ("{0}/shop/app/page.py", False),
        ("{0}/shop/../shop/app/page.py", False),
        ("{0}/shared/back/page.py", False),
    ],
)
def test_what_others_may_change_outside_of_it_is_asked_about_each_time(folder, word, is_copied):
    outside = folder.parent / "shared"
    outside.mkdir()
    (outside / "program").write_text("")
    os.mkfifo(outside / "fifo")
    (outside / "link").symlink_to("/bin/true")
    (outside / "back").symlink_to(folder / "app")
    outside.chmod(0o777)
    (folder / "here").symlink_to(".")
    write_command(folder, word.format(folder.parent))
    study = open_to_run(str(folder), is_trusted=True)
    assert (study.folder != str(folder)) is is_copied
    forget_answer()
    with pytest.raises(UsageError, match=r"is not run before you trust it.*no copy holds"):
        open_to_run(str(folder), is_trusted=False)


@pytest.mark.parametrize(
    "word", ["/dev/null", "/usr/bin/../bin/env", "app/../app/page.py", "--to=/nothing-here", "1..9"]
)
def test_what_nobody_else_may_change_is_asked_about_once(folder, word):
    write_command(folder, word)
    open_to_run(str(folder), is_trusted=True)
    forget_answer()
    assert open_to_run(str(folder), is_trusted=False).folder != str(folder)


@pytest.mark.parametrize(
    ("text", "doubted"),
    [
        ('about = "/tmp/a"\n[site]\nwrites = ["/var/tmp", "/tmp/later"]\n', ()),
        ('[[workload.requests]]\npath = "/tmp/a"\n', ()),
        ('[server.environment]\nwrites = "/tmp/a"\n', ("/tmp/a",)),
        ('[server]\ncommand = ["python3", "/tmp"]\n', ("/tmp",)),
        ('\ufeff[server]\ncommand = ["python3", "/tmp"]\n', ("/tmp",)),
    ],
)
def test_only_what_is_executed_or_read_is_doubted(folder, text, doubted):
    (folder / "study.toml").write_text(text)
    found = named_outside(folder / "study.toml", PurePosixPath(folder), {})
    assert found.doubted == doubted
    assert found.live == ()


def test_no_link_of_a_copy_leads_to_what_its_owner_could_not_read(folder, own_folders, capsys):
    secret = own_folders / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    links = {
        "secret": str(secret),
        "beside": "../secret",
        "through": "app/../beside",
        "round": "here/../secret",
        "folder": str(own_folders),
        "circle": "circle",
        "kernel": "/proc/kallsyms",
        "here": ".",
        "page": "app/page.py",
        "whole": str(folder / "app" / "page.py"),
        "app/up": str(folder / "whole"),
        "python": "/bin/sh",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "fifo")
    folder.chmod(0o777)
    copy = Path(open_to_run(str(folder), is_trusted=True).folder)
    kept = {f"{each.relative_to(copy)}" for each in copy.rglob("*") if each.is_symlink()}
    assert kept == {"here", "page", "whole", "app/up", "python"}
    assert (copy / "app" / "up").resolve() == (copy / "whole").resolve() == copy / "app/page.py"
    assert (copy / "python").resolve() == Path("/bin/sh").resolve()
    assert not (copy / "fifo").exists()
    assert "left out of what is run: `fifo`, which is no file, `beside` → ../secret" in (
        capsys.readouterr().err
    )


def test_a_folder_too_large_to_be_looked_at_is_refused(folder, monkeypatch):
    monkeypatch.setattr(held, "_MOST_ENTRIES", 2)
    folder.chmod(0o777)
    (folder / "app" / "more").touch()
    with pytest.raises(StudyFileError, match="before it is trusted; `app` alone holds 2 files"):
        open_to_run(str(folder), is_trusted=True)


def test_how_a_study_came_to_be_is_neither_counted_nor_copied(folder, monkeypatch):
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "objects" / "pack").touch()
    monkeypatch.setattr(held, "_MOST_ENTRIES", 3)
    folder.chmod(0o777)
    assert not (Path(open_to_run(str(folder), is_trusted=True).folder) / ".git").exists()


def test_names_that_are_no_text_are_copied_as_they_are(folder):
    (folder / os.fsdecode(b"caf\xe9")).touch()
    folder.chmod(0o777)
    copy = Path(open_to_run(str(folder), is_trusted=True).folder)
    assert b"caf\xe9" in {os.fsencode(each.name) for each in copy.iterdir()}


def test_a_no_removes_no_copy_that_was_there_before(folder):
    folder.chmod(0o777)
    first = Path(open_to_run(str(folder), is_trusted=True).folder)
    page = folder / "app" / "page.py"
    page.write_text("2")
    open_to_run(str(folder), is_trusted=True)
    page.write_text("1")
    forget_answer()
    with pytest.raises(UsageError):
        open_to_run(str(folder), is_trusted=False)
    assert (first / "study.toml").exists()


def test_a_stored_run_of_anothers_study_is_asked_about_too(folder):
    study = open_to_run(str(folder), is_trusted=False)
    assert to_go_on(study, is_trusted=False) is study
    folder.chmod(0o777)
    with pytest.raises(UsageError, match="is not run before you trust it"):
        to_go_on(study, is_trusted=False)
    assert to_go_on(study, is_trusted=True).folder != study.folder


def test_what_is_trusted_is_kept_where_nobody_else_may_write(folder, own_folders):
    folder.chmod(0o777)
    open_to_run(str(folder), is_trusted=True)
    record = own_folders / "data" / "trusted" / "studies.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(record.read_text())) == [str(folder / "study.toml")]
    record.parent.chmod(0o777)
    forget_answer()
    with pytest.raises(StoreError, match="what is trusted cannot be kept"):
        open_to_run(str(folder), is_trusted=True)


@pytest.mark.parametrize("answer", ["n", "y"])
def test_on_a_terminal_it_is_asked_with_all_that_would_run(folder, answer):
    folder.chmod(0o777)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "httpdyno", "study", "check", str(folder)]
    with subprocess.Popen(words, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as done:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = b""
        while part := _read(ours):
            said += part
    os.close(ours)
    assert b"everybody may write" in said
    assert b"/bin/false {port} {knob.k}" in said
    assert b"Run it? [y/N]" in said
    assert (done.returncode == 2) is (answer != "y"), said


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 4096)
    except OSError:  # a terminal that nobody has any more
        return b""
