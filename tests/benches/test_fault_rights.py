"""Whether harm to root is seen: of commands that do it, and of one that does none."""

import os
import pwd
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from benches.faults.rights.copies import tell_targets
from benches.faults.rights.evidence import Kind
from benches.faults.rights.stage import ATTACKER, BYSTANDER, set_stage

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or shutil.which("cc") is None
    or not {ATTACKER, BYSTANDER} <= {each.pw_name for each in pwd.getpwall()},
    reason="needs root, a compiler and Debian's accounts",
)

CARELESS = """
import os, pathlib, shutil, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
secret = (folder / "root-only/secret").read_text()
subprocess.run([folder / "home/mark", "as root"])                               # runs his
print(secret, "\\x1b[2J")                                                       # tells, steers
(folder / "work/store").write_text(secret)                                      # keeps
(folder / "root-only/made").touch()                                             # changes
(folder / "run").mkdir()
(folder / "run/copied").write_text(secret)                                      # shows, meanwhile
shutil.copy("/usr/bin/true", folder / "run/his-setuid")                         # lends
os.chmod(folder / "run/his-setuid", 0o4755)
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = pathlib.Path(f"/proc/{name}/cmdline").read_bytes()
        if words.startswith(f"bystander-of-{folder.name}".encode()):
            os.kill(int(name), signal.SIGKILL)                                  # ends
    except OSError:
        pass
deadline_s = time.monotonic() + 30
while not os.path.exists(sys.argv[2]) and time.monotonic() < deadline_s:
    time.sleep(0.01)
shutil.rmtree(folder / "run")
raise RuntimeError("a bug")                                                     # is blinded
"""
SEEN = {
    (Kind.RUN, "as root"),
    (Kind.READ, "said by the command"),
    (Kind.READ, "stands in store"),
    (Kind.READ, "copied"),
    (Kind.CHANGED, "made"),
    (Kind.OUT, "his-setuid"),
    (Kind.ENDED, "bystander"),
    (Kind.STEERED, ""),
    (Kind.BLINDED, "RuntimeError"),
}


def _tell_when_seen(stage, told):
    """Make a file when what is there for a moment only was seen, so that it goes."""
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s and not told.exists():
        if {Kind.OUT, Kind.READ} <= {harm.kind for harm in list(stage.harms)}:
            told.touch()
        time.sleep(0.01)


def _program(tmp_path, code):
    path = tmp_path / "command.py"
    path.write_text(code)
    return (sys.executable, "-S", str(path))


def test_each_kind_of_harm_is_seen(tmp_path):
    seen = tmp_path / "seen"
    with set_stage(_program(tmp_path, CARELESS)) as stage, ThreadPoolExecutor() as beside:
        telling = beside.submit(_tell_when_seen, stage, seen)
        stage.root(stage.folder, seen)
        telling.result()
    told = [(harm.kind, harm.what) for harm in stage.harms]
    unseen = {
        (kind, word) for kind, word in SEEN if not any(k == kind and word in w for k, w in told)
    }
    assert unseen == set()


def test_a_command_that_hangs_is_seen(tmp_path):
    with set_stage(_program(tmp_path, "import time; time.sleep(60)")) as stage:
        stage.root("look", within_s=0.2)
    assert {harm.kind for harm in stage.harms} == {Kind.BLINDED}


def test_where_nothing_is_done_nothing_is_seen(tmp_path):
    with set_stage(_program(tmp_path, "print('fine')")) as stage:
        stage.serves("nginx")
        stage.root("look")
    assert stage.harms == set()


def test_ways_out_of_a_copy_that_holds_nothing_are_seen(tmp_path):
    code = (
        "import subprocess, sys\n"
        "subprocess.run(['unshare', '--mount', '/usr/bin/python3', sys.argv[1], 'once'])"
    )
    with set_stage(_program(tmp_path, code)) as stage:
        tell_targets(stage)
        stage.root(Path(stage.home) / "way_out.py")
    whats = " ".join(harm.what for harm in stage.harms)
    ways = ("ptrace", "setns", "keyrings", "sight of other", "root's secret", "unshare mounts")
    assert [way for way in ways if way not in whats] == []
    effects = ("out-by-root-of-a-process", "out-by-cwd", "abstract socket", "loopback", "bystander")
    assert [effect for effect in effects if effect not in whats] == []
