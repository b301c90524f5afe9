"""Whoever may write a file, or put another one in its place, decides as whom it is run."""

import errno
import grp
import os
import pwd
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.host import runnable
from httpdyno.host.runnable import (
    ANYBODY,
    PATH,
    NotOursError,
    own_program,
    said_by,
    whom,
    writers_of,
)
from httpdyno.registry import site_adapters
from httpdyno.servers.discover.machine import this_machine

ROOT, EVE, BOB, NO_GROUP = 0, 65_533, 65_532, 65_531
REFUSED = "refused"
PACKAGES = "lib/python3.11/site-packages"
AS = {"PATH": PATH}
SHOW = "#!/bin/sh\nid -u; id -G; grep NoNewPrivs /proc/self/status; pwd; env; ls /proc/self/fd\n"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder():
    """One that others can go through to, as they cannot to those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def script(path, text="#!/bin/sh\nid -u\n", owner=ROOT):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    path.chmod(0o755)
    os.chown(path, owner, ROOT)
    return path


def at(path, *, owner=ROOT, mode=0o755, group=ROOT):
    script(path)
    os.chown(path, owner, group)
    path.chmod(mode)
    return path


def inside(folder, *, owner=ROOT, mode=0o755, group=ROOT, file=ROOT):
    path = script(folder / "in" / "nginx", owner=file)
    os.chown(path.parent, owner, group)
    path.parent.chmod(mode)
    return path


def linked(link, to, *, owner=ROOT):
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(to)
    os.chown(link, owner, owner, follow_symlinks=False)
    return link


def shared(folder):
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o1777)
    return folder / "shared"


def hard_linked(folder):
    os.link(script(folder / "program"), shared(folder) / "nginx")
    return folder / "shared" / "nginx"


def listed(path, *, mask):
    """Let a list say that eve may write, at most what the mask says."""
    script(path)
    entries = [(1, 7, -1), (2, 7, EVE), (4, 5, -1), (16, mask, -1), (32, 5, -1)]
    packed = b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + packed)
    except OSError:
        pytest.skip("this file system has no access control lists")
    return path


def environment(folder, *, theirs="", open_to_all="", link="", below=""):
    """A virtual environment of root's, of which one thing is special."""
    home = folder / "environment"
    (home / PACKAGES).mkdir(parents=True)
    linked(home / "bin" / "python3", sys.executable)
    for name in ("pyvenv.cfg", f"{PACKAGES}/gunicorn/__init__.py"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).touch()
    if theirs:
        os.chown(home / theirs, EVE, EVE)
    if open_to_all:
        (home / open_to_all).chmod(0o1777)
    if link:
        linked(home / PACKAGES / "link", link)
    (home / PACKAGES / below).mkdir(parents=True, exist_ok=True)
    return home / "bin" / "python3"


LAYOUTS = {
    "root's alone": (lambda f: at(f / "nginx"), ROOT),
    "eve's file": (lambda f: at(f / "nginx", owner=EVE), EVE),
    "in eve's folder": (lambda f: inside(f, owner=EVE), EVE),
    "root's link in eve's folder": (
        lambda f: linked(inside(f, owner=EVE).parent / "n", "/bin/sh"),
        EVE,
    ),
    "root's link to eve's file": (lambda f: linked(f / "l" / "n", at(f / "nginx", owner=EVE)), EVE),
    "eve's link among those of all": (lambda f: linked(shared(f) / "n", "/bin/sh", owner=EVE), EVE),
    "root's among those of all": (lambda f: script(shared(f) / "nginx"), ROOT),
    "in root's folder among those of all": (lambda f: inside(shared(f)), ROOT),
    "in eve's folder among those of all": (lambda f: inside(shared(f), owner=EVE), EVE),
    "another name of root's among those of all": (hard_linked, REFUSED),
    "up from eve's folder": (
        lambda f: inside(f, owner=EVE).parent / ".." / at(f / "nginx").name,
        EVE,
    ),
    "eve's file in bob's folder": (lambda f: inside(f, owner=BOB, file=EVE), REFUSED),
    "a file of a group that nobody knows": (
        lambda f: at(f / "n", mode=0o775, group=NO_GROUP),
        REFUSED,
    ),
    "a file of root's group": (lambda f: at(f / "n", mode=0o775), ROOT),
    "a folder of a group that nobody knows": (
        lambda f: inside(f, mode=0o775, group=NO_GROUP),
        REFUSED,
    ),
    "a file of everybody's": (lambda f: at(f / "n", mode=0o757), REFUSED),
    "a folder of everybody's": (lambda f: inside(f, mode=0o777), REFUSED),
    "a list names eve": (lambda f: listed(f / "nginx", mask=7), EVE),
    "a list names eve, and its mask takes that back": (lambda f: listed(f / "nginx", mask=5), ROOT),
    "eve's interpreter": (lambda f: script(f / "n", f"#!{at(f / 'sh', owner=EVE)}\n"), EVE),
    "an interpreter that env finds": (lambda f: script(f / "n", "#!/usr/bin/env sh\n"), ROOT),
    "a virtual environment of root's": (lambda f: environment(f, theirs=""), ROOT),
    "one in which eve may write a module": (
        lambda f: environment(f, theirs=f"{PACKAGES}/gunicorn/__init__.py"),
        EVE,
    ),
    "one of which she may write the settings": (lambda f: environment(f, theirs="pyvenv.cfg"), EVE),
    "one to which all may add modules": (lambda f: environment(f, open_to_all=PACKAGES), REFUSED),
    "one to which all may add settings": (lambda f: environment(f, open_to_all="."), REFUSED),
    "one with a link to where eve may put modules": (
        lambda f: environment(f, link=f"{inside(f, owner=EVE).parent}/none"),
        EVE,
    ),
    "one with a link to itself": (lambda f: environment(f, link="link"), ROOT),
    "one that is too deep": (lambda f: environment(f, below="/".join("d" * 70)), REFUSED),
}


@as_root
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_is_run_as_nobody_more_than_all_who_may_write_it(folder, layout):
    make, expected = LAYOUTS[layout]
    path = str(make(folder))
    try:
        found: object = whom(path, writers_of(path))
    except NotOursError:
        found = REFUSED
    assert found == expected


@pytest.mark.parametrize(
    ("names", "group", "expected"),
    [
        ("passwd: files systemd # sss\n", ("devs", ["bob"], 1), {BOB}),
        ("hosts: dns\n", ("devs", ["bob"], 1), {BOB}),
        ("passwd: files\ngroup: files [success=merge] ldap\n", ("devs", ["bob"], 1), {ANYBODY}),
        ("passwd: files sss\n", ("devs", ["bob"], 1), {ANYBODY}),
        ("passwd: files sss\n", ("bob", [], 7), {BOB}),
        ("passwd: files sss\n", ("bob", ["eve"], 7), {ANYBODY}),
        ("passwd: files sss\n", ("bob", [], 1), {ANYBODY}),
    ],
)
def test_a_group_is_of_its_users_where_all_of_them_can_be_listed(
    tmp_path, monkeypatch, names, group, expected
):
    (tmp_path / "nsswitch.conf").write_text(names)
    name, members, own_group = group
    bob = pwd.struct_passwd(("bob", "x", BOB, own_group, "", "/", "/bin/sh"))
    monkeypatch.setattr(runnable, "_NAME_SERVICES", tmp_path / "nsswitch.conf")
    named = grp.struct_group((name, "x", 7, members))
    monkeypatch.setattr("grp.getgrgid", lambda _number: named)
    monkeypatch.setattr("pwd.getpwall", lambda: [bob])
    monkeypatch.setattr("pwd.getpwnam", {"bob": bob}.__getitem__)
    assert runnable._members.__wrapped__(7) == expected


def test_what_this_user_cannot_read_stops_nothing_where_it_is_roots_or_his(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()

    def closed(name, flags, *arguments, **options):
        if name == "closed" and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return real_open(name, flags, *arguments, **options)

    real_open = os.open
    monkeypatch.setattr("os.open", closed)
    assert EVE not in runnable.writers_below([str(tmp_path)], most=9)
    monkeypatch.setattr("os.geteuid", lambda: BOB)
    if os.getuid() == 0:
        os.chown(tmp_path / "closed", EVE, EVE)
    with pytest.raises(PermissionError, match=f"{tmp_path}/closed"):
        runnable.writers_below([str(tmp_path)], most=9)


@as_root
def test_whoever_a_process_runs_as_is_the_most_that_its_program_is_run_as(folder):
    theirs = script(folder / "nginx", owner=EVE)
    with pytest.raises(NotOursError, match=f"is not run: {EVE} may write"):
        said_by([str(theirs)], environment=AS, at_most=str(BOB))
    own = script(folder / "own", owner=BOB)
    assert said_by([str(own)], environment=AS, at_most=str(BOB)).output == f"{BOB}\n"
    assert said_by(["/usr/bin/id", "-u"], environment=AS, at_most=str(EVE)).output == f"{EVE}\n"
    assert said_by([str(theirs)], environment=AS, at_most="root").output == f"{EVE}\n"


@as_root
def test_who_is_run_gets_nothing_of_roots(folder):
    theirs = script(folder / "nginx", SHOW, owner=EVE)
    given = {**AS, "SECRET": "x", "LD_LIBRARY_PATH": "/nowhere"}
    with (folder / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        user, groups, *rest = said_by([str(theirs)], environment=given).output.splitlines()
    assert (user, groups) == (str(EVE), "65534")
    assert rest[:2] == ["NoNewPrivs:\t1", "/"]
    names = {line.partition("=")[0] for line in rest[2:] if "=" in line}
    assert names <= {"PATH", "PWD", "LC_CTYPE", "_", "SHLVL", "OLDPWD"}
    # Input, output, errors, and what lists them.
    assert len([line for line in rest if line.isdecimal()]) == 4


def test_a_script_knows_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shim = script(
        tmp_path / "shims" / "python3", '#!/bin/sh\n. "${0%/*}/../name"\necho "${0##*/}"\n'
    )
    (tmp_path / "name").touch()
    assert said_by([str(shim)], environment=AS).output == "python3\n"
    assert said_by(["shims/python3"], environment=AS).output == "python3\n"


def test_an_ordinary_user_runs_all_as_himself_and_nothing_of_another_one(monkeypatch):
    monkeypatch.setattr(runnable, "is_root_of_the_machine", lambda: False)
    monkeypatch.setattr("os.geteuid", lambda: BOB)
    assert whom("/x", {ROOT: "/", BOB: "/x"}) == BOB
    assert whom("/x", {ROOT: "/"}, at_most=str(EVE)) == BOB
    with pytest.raises(NotOursError, match=f"`/x` is not run: {EVE} may write `/x`"):
        whom("/x", {ROOT: "/", EVE: "/x"})


@as_root
@pytest.mark.parametrize("is_script", [True, False])
def test_a_file_that_is_swapped_once_it_was_looked_at_is_nobody_elses(
    folder, monkeypatch, is_script
):
    named = inside(folder, owner=EVE)
    if not is_script:
        shutil.copy("/bin/echo", named)
    evil = script(named.parent / "evil", "#!/bin/sh\nid -u; echo swapped\n", owner=EVE)

    def swap(*arguments, **options):
        evil.rename(named)
        return whom(*arguments, **options)

    monkeypatch.setattr(runnable, "whom", swap)
    said = said_by([str(named), *([] if is_script else ["looked at"])], environment=AS)
    assert said.output == (f"{EVE}\nswapped\n" if is_script else "looked at\n")
    assert named.read_text().endswith("swapped\n")


def test_what_says_too_much_or_takes_too_long_is_ended(tmp_path):
    def own(name, text):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
        return [str(tmp_path / name)]

    assert len(said_by(own("much", "exec yes"), environment=AS).output) == 4 << 20
    # Nor is what it leaves behind waited for.
    with pytest.raises(AdapterError, match=r"long` did not end within 0\.2 s"):
        said_by(own("long", "sleep 100 & exec sleep 100"), environment=AS, timeout_s=0.2)
    assert said_by(own("left", "sleep 100 & echo $!"), environment=AS).output.strip().isdecimal()
    with pytest.raises(AdapterError, match=r"`.*/none` cannot be run: no such file"):
        said_by([f"{tmp_path}/none"], environment=AS)


@as_root
def test_what_runs_by_its_path_is_nobody_elses_to_replace(folder):
    path = str(script(shared(folder) / "strace"))
    assert own_program(path) == path
    with pytest.raises(NotOursError, match=f"{EVE} may write"):
        own_program(str(script(folder / "perl", owner=EVE)))
    assert own_program("sh", further=PATH).endswith("/sh")


EVIL = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  FILE *log = fopen(LOG, "a");
  fprintf(log, "%d\n", getuid());
  fclose(log);
  if (count > 1 && !strcmp(words[1], "-V"))
    return fprintf(stderr, "nginx version: nginx/1.2.3\nconfigure arguments: --prefix=/x\n") < 0;
  pause();
}
"""


@as_root
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
def test_a_program_of_any_users_that_is_called_nginx_is_never_run_as_root(folder):
    (folder / "evil.c").write_text(EVIL)
    (folder / "log").touch()
    os.chown(folder / "log", EVE, EVE)
    program = folder / "nginx"
    command = ["gcc", f'-DLOG="{folder}/log"', "-o", program, folder / "evil.c"]
    subprocess.run(command, check=True)
    os.chown(program, EVE, EVE)
    # As what is run as `nginx: master process`, with options of hers.
    with subprocess.Popen([program], user=EVE, group=EVE, extra_groups=[]) as running:
        try:
            wait_for((folder / "log").read_text, 10.0)
            found = {tree.root.pid: tree.member for tree in this_machine(site_adapters()).trees}
        finally:
            running.kill()
    member = found[running.pid]
    assert member.program == str(program)
    assert set((folder / "log").read_text().split()) == {str(EVE)}


def wait_for(is_done, patience_s):
    deadline_s = time.monotonic() + patience_s
    while not is_done():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
