"""A wheel in a fresh environment: it has all that it needs, and wants no compiler.

The extension is not compiled for it: it is as `make setup` left it. `HTTPDYNO_WHEEL=FILE` has a
wheel tested that is there, such as that of `make wheel`.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.load.site import serving

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
pytestmark = pytest.mark.timeout(300)  # where the extension is not up to date, it is compiled
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def built(folder: Path) -> Path:
    """Make a wheel of what is compiled."""
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), "."]
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    subprocess.run(command, cwd=REPOSITORY, env={**os.environ, "PATH": path}, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def needed(of: Distribution, seen: set[str]) -> Iterator[Distribution]:
    """Yield what a package declares to need, and what that needs."""
    for each in map(Requirement, of.requires or ()):
        is_wanted = each.marker is None or each.marker.evaluate({"extra": ""})
        if is_wanted and each.name.lower() not in seen:
            seen.add(each.name.lower())
            found = distribution(each.name)
            yield found
            yield from needed(found, seen)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel beside what it declares to need, and nothing else; return its programs."""
    folder = tmp_path_factory.mktemp("wheel")
    given = os.environ.get("HTTPDYNO_WHEEL")
    wheel = Path(given).absolute() if given else built(folder)
    assert "-cp311-abi3-" in wheel.name
    fresh = folder / "fresh"
    venv.create(fresh, symlinks=True)
    install = ("--python", str(fresh), "install", "--no-deps", "--no-index", "--no-compile")
    subprocess.run([*PIP, *install, str(wheel)], check=True)
    [packages] = fresh.glob("lib/python*/site-packages")
    [own] = Distribution.discover(name="httpdyno", path=[str(packages)])
    for each in needed(own, set()):
        for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            (packages / name).symlink_to(str(each.locate_file(name)))
    return fresh / "bin"


@pytest.fixture
def run(programs, own_folders, tmp_path):
    """Run the installed program where nothing else is in PATH; return what it prints."""
    kept = {name: text for name, text in os.environ.items() if name.startswith("HTTPDYNO_")}

    def ran(*words: str) -> str:
        done = subprocess.run(
            [programs / "httpdyno", *words],
            env={**kept, "PATH": str(programs)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran


def test_it_loads_a_server_draws_a_report_and_keeps_the_run(run, tmp_path):
    with serving() as site:
        words = ("-c", "2", "-n", "50", "--html", "load.html")
        told = run("load", f"http://{site.address}/", *words)
    assert told.startswith("50 of 50 requests completed")
    assert "<svg" in (tmp_path / "load.html").read_text()
    [kept] = json.loads(run("history", "--json", "-"))["runs"]
    assert kept["command"] == "load"


def test_it_has_the_bundled_studies_and_the_book(run):
    assert "--budget" in run("demo", "--help")
    assert json.loads(run("study", "show", "bookmarks", "--json", "-"))["name"] == "bookmarks"
    assert json.loads(run("book", "--json", "-"))["experiments"]


def test_it_is_what_was_installed(programs, tmp_path):
    code = "import httpdyno._native as it; print(it.__file__)"
    command = [programs / "python", "-c", code]
    done = subprocess.run(command, env={}, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout).is_relative_to(programs.parent)
