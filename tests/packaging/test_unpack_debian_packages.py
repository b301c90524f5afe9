"""The unpacker against programs that only say what they were asked: nothing is downloaded here."""

import re
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"
APT_GET = """\
echo "$*" >>"$CALLS"
for package; do case "$package" in one | other) echo "$package" >"$package.deb" ;; esac; done
test ! -e "$FAILS"
"""
DPKG_DEB = 'mkdir -p "$3/usr" && cp "$2" "$3/usr"\n'


@pytest.fixture
def unpack(tmp_path):
    """Unpack a list of two packages; give the script's end and where it unpacks."""
    (tmp_path / "bin").mkdir()
    for name, script in {"apt-get": APT_GET, "dpkg-deb": DPKG_DEB, "dpkg": ""}.items():
        file = tmp_path / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}")
        file.chmod(0o755)
    (tmp_path / "list.txt").write_text("# a list\none  # why\nother # why\n")

    def run():
        done = subprocess.run(
            [
                PACKAGING / "unpack-debian-packages",
                tmp_path / "list.txt",
                tmp_path / "target/modules",
            ],
            env={
                "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
                "CALLS": str(tmp_path / "calls"),
                "FAILS": str(tmp_path / "fails"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_all_of_a_list_is_unpacked_once_and_nothing_else_is_left(unpack, tmp_path):
    assert unpack() == f"unpacked in {tmp_path}/target/modules:  one other \n"
    folder = tmp_path / "target/modules"
    assert sorted(path.name for path in (folder / "usr").iterdir()) == ["one.deb", "other.deb"]
    assert list((tmp_path / "target").iterdir()) == [folder]
    calls = (tmp_path / "calls").read_text()
    assert "install" not in calls
    assert "are unpacked in" in unpack()
    assert (tmp_path / "calls").read_text() == calls


def test_what_cannot_be_had_is_said_and_tried_anew(unpack, tmp_path):
    (tmp_path / "fails").touch()
    assert "not unpacked:  one other (a package cannot be had" in unpack()
    assert list((tmp_path / "target").iterdir()) == []
    (tmp_path / "fails").unlink()
    assert unpack().startswith("unpacked in")


def test_the_list_is_one_name_a_line_with_its_reason():
    lines = (PACKAGING / "nginx-modules.txt").read_text().splitlines()
    entries = [line for line in lines if not line.startswith("#")]
    assert entries == sorted(entries)
    assert all(re.fullmatch(r"[a-z0-9.+-]+ +# .+", line) for line in entries)
