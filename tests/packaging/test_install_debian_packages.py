"""The installer against programs that only say what they were asked: nothing is installed here."""

import os
import re
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"
DPKG_QUERY = """\
for package; do :; done
grep -qx "$package" "$STATE" && printf installed
"""
APT_GET = """\
echo "$* policy=$(test -x "$POLICY_RC_D" && echo yes || echo no) runlevel=$RUNLEVEL" >>"$CALLS"
test "$1" = install || exit 0
test -z "$APT_FAILS" || exit 100
for argument; do echo "$argument"; done >>"$STATE"
"""


class Machine:
    """A Debian machine made of shell scripts."""

    def __init__(self, folder):
        self.folder = folder
        self.policy = folder / "policy-rc.d"
        self.list = folder / "list.txt"
        self.list.write_text("# a list\nhere  # one that is there\nmissing # one that is not\n")
        (folder / "state").write_text("here\n")
        (folder / "calls").touch()
        self.set_user(0)
        self.add("dpkg-query", DPKG_QUERY)
        self.add("apt-get", APT_GET)

    def add(self, name, script):
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\n" + script)
        file.chmod(0o755)

    def set_user(self, number):
        self.add("id", f"echo {number}\n")

    def install(self, **environment):
        return subprocess.run(
            [PACKAGING / "install-debian-packages", self.list],
            env={
                "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
                "STATE": str(self.folder / "state"),
                "CALLS": str(self.folder / "calls"),
                "POLICY_RC_D": str(self.policy),
                "APT_FAILS": "",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_nothing_is_asked_of_apt_when_nothing_is_missing(machine):
    machine.list.write_text("here\n")
    assert machine.install(CI="true").returncode == 0
    assert machine.calls() == []


def test_root_installs_what_is_missing_while_services_may_not_start(machine):
    done = machine.install()
    assert (done.returncode, done.stderr) == (0, "")
    update, install = machine.calls()
    assert update.startswith("update ")
    assert re.search(r"--no-install-recommends .*\bmissing policy=yes runlevel=1$", install)
    assert "here" not in install
    assert not machine.policy.exists()


@pytest.mark.parametrize(("is_there", "n"), [(False, 1), (True, 0)])
def test_fastcgi_is_not_switched_on_for_the_machine_s_own_apache(machine, is_there, n):
    machine.add("a2dismod", 'echo "a2dismod $*" >>"$CALLS"\n')
    machine.list.write_text("missing\nlibapache2-mod-fcgid\n")
    if is_there:  # as its administrator has it
        (machine.folder / "state").write_text("libapache2-mod-fcgid\n")
    assert machine.install().returncode == 0
    assert machine.calls().count("a2dismod --quiet fcgid") == n


def test_a_policy_of_the_administrator_stays(machine):
    machine.policy.write_text("#!/bin/sh\nexit 104\n")
    assert machine.install().returncode == 0
    assert machine.policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_the_policy_is_taken_away_also_when_the_installation_fails(machine):
    assert machine.install(APT_FAILS="yes").returncode == 100
    assert len(machine.calls()) == 2
    assert not machine.policy.exists()


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_others_are_told_what_is_missing_and_only_ci_stops_there(machine, ci, status):
    machine.set_user(1000)
    done = machine.install(CI=ci)
    assert done.returncode == status
    assert "not installed: missing (not root" in done.stdout
    assert machine.calls() == []


def test_every_package_has_its_reason():
    lines = (PACKAGING / "debian-packages.txt").read_text().splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert listed
    for line in listed:
        assert re.fullmatch(r"[a-z0-9.+-]+ +# \S.*", line), line


def test_the_installer_can_be_run():
    assert os.access(PACKAGING / "install-debian-packages", os.X_OK)
