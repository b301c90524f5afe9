"""What all tests share: folders of their own, golden files, the oracle, a look round at the end.

`@pytest.mark.real_server("apache2", …)` skips a test where one of the programs is missing. Such
skips are counted at the end, and are failures where CI=true.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from hypothesis import HealthCheck, settings
from tests.load.origin import Origin, origin
from tests.store.postgresql import FOLDERS
from tests.verdict import Counts

from httpdyno.servers.sandbox.evaluator import close_all

pytest_plugins = ["pytester", "tests.disturbed"]

GOLDEN = Path(__file__).parent / "golden"
IS_CI = os.environ.get("CI") == "true"
# Servers are in /usr/sbin, which is not in everybody's PATH, and PostgreSQL's in nobody's.
PROGRAM_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *FOLDERS])
SKIPPED = "needs what is not installed: "
# What is shown on a terminal is tested on one that can be redrawn, whatever the caller has.
os.environ["TERM"] = "xterm"

LEFTOVER_DEADLINE_S = 5.0

# How long an example takes tells of what else the machine does.
settings.register_profile("gate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew instead of comparing"
    )
    parser.addoption(
        "--every-study", action="store_true", help="start every bundled study, not one a feature"
    )
    parser.addoption("--count-into", type=Path, help="write there how many tests there were")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--every-study"):
        return
    left_out = [item for item in items if item.get_closest_marker("every_study")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("real_server"):
        missing = [name for name in marker.args if shutil.which(name, path=PROGRAM_PATH) is None]
        if missing:
            pytest.skip(SKIPPED + ", ".join(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (
        IS_CI
        and report.skipped
        and not hasattr(report, "wasxfail")
        and item.get_closest_marker("real_server")
    ):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"with CI=true no test against real servers may be skipped: {reason}"
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if file := config.getoption("--count-into"):
        _counts(terminalreporter).write(file)
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "real_server" in report.keywords
    ]
    if skipped:
        terminalreporter.write_sep("=", "tests against real servers", yellow=True)
        terminalreporter.write_line(
            f"{len(skipped)} tests against real servers were skipped: install what they need with "
            "`sudo packaging/install-debian-packages`"
        )


def _counts(reporter: pytest.TerminalReporter) -> Counts:
    n_of = {outcome: len(reports) for outcome, reports in reporter.stats.items()}
    repeated = {report.nodeid for report in reporter.stats.get("rerun", [])}
    return Counts(
        passed=n_of.get("passed", 0) + n_of.get("xfailed", 0),
        failed=n_of.get("failed", 0) + n_of.get("error", 0),
        skipped=n_of.get("skipped", 0),
        tried_again=len(repeated),
    )


@pytest.fixture(scope="session")
def session_folder() -> Iterator[Path]:
    """A folder that servers which gave up root can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="httpdyno-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def session_memory() -> Iterator[Path]:
    """The same in memory, where the session meets nobody's leftovers and leaves none to others."""
    shared = Path("/dev/shm")
    home = shared if os.access(shared, os.W_OK | os.X_OK) else None
    # Short: paths of sockets end after 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="hd-", dir=home))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session", autouse=True)
def nothing_left_running(session_folder: Path) -> Iterator[None]:
    """Fail the session when a process that it started, or a child of such a one, is left."""
    yield
    close_all()  # what renders templates stays for as long as this process does
    left = _wait_until_empty(lambda: _processes_of_session(session_folder))
    assert not left, f"processes are left: {left}"


@pytest.fixture(autouse=True)
def own_folders(
    session_folder: Path, session_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give each test its own data and run folders, and none of the user's settings."""
    folder = Path(tempfile.mkdtemp(dir=session_folder))
    folder.chmod(0o755)
    monkeypatch.setenv("HTTPDYNO_DATA_DIR", str(folder / "data"))
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(folder / "run"))
    memory = session_memory / folder.name
    memory.mkdir()
    memory.chmod(0o755)
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(memory))
    for name in ("HTTPDYNO_STORE", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    for each in (folder, memory):
        shutil.rmtree(each, ignore_errors=True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name under `tests/golden`, or write the file."""

    def check(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no golden file `{name}`: make it with --update-golden"
        assert text == file.read_text(encoding="utf-8")

    return check


@pytest.fixture
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the looks after a start's windows: seconds of load that few tests ask about."""
    wanted = "httpdyno.experiment.trial.afterwards.LooksToTake.wanted"
    monkeypatch.setattr(wanted, lambda *_: {})


@pytest.fixture
def oracle() -> Iterator[Origin]:
    """Start the origin whose timing is known, without any arguments."""
    with origin() as started:
        yield started


def _processes_of_session(folder: Path) -> list[str]:
    """Return the children, and those that run in one of the session's folders.

    A server that left for a session of its own is nobody's child any more, but still has the
    environment that the test gave it.
    """
    children = {child.pid for child in psutil.Process().children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            environment = process.environ()
            is_ours = process.pid in children or any(
                str(folder) in environment.get(name, "")
                for name in ("HTTPDYNO_RUN_DIR", "HTTPDYNO_INSTANCE")
            )
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except psutil.Error:
            continue
    return found


def _wait_until_empty(listing: Callable[[], list[str]]) -> list[str]:
    deadline_s = monotonic() + LEFTOVER_DEADLINE_S
    while (found := listing()) and monotonic() < deadline_s:
        sleep(0.05)
    return found
