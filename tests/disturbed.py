"""A test that failed while the machine's host took the CPU from us is tried again, and said so.

Such a host stops us between any two instructions, for tens of milliseconds, and what it takes may
even stand in the account of whoever ran: then what a test saw of time shows nothing. Whether it
did so is known from the host's own account, never from what the test showed; a test that fails
undisturbed has failed, and so has one that fails three times.
"""

from time import monotonic

import pytest

from httpdyno.telemetry.kernel import steal_s

MOST_STOLEN_RATIO = 0.05
"""The part of a try, in cores, from which on it is spoilt."""
N_REPETITIONS = 2

_began: list[tuple[float, float]] = [(0.0, 0.0)]
"""When the running try began, and what the host had taken by then; (1,), s."""


def was_disturbed() -> bool:
    """Return whether the host took more from the running try than it may lose."""
    began_s, stolen_before_s = _began[0]
    return steal_s() - stolen_before_s > MOST_STOLEN_RATIO * (monotonic() - began_s)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=N_REPETITIONS, condition=was_disturbed))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    _began[0] = monotonic(), steal_s()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    repeated = terminalreporter.stats.get("rerun", [])
    if repeated:
        terminalreporter.write_sep("=", "tried again", yellow=True)
        terminalreporter.write_line(
            f"the machine's host took more than {MOST_STOLEN_RATIO:.0%} of a core from these tests "
            "while they failed, and so each was tried again:"
        )
    for report in repeated:
        terminalreporter.write_line(f"  {report.nodeid}: {_reason(report)}")


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(report.longrepr if crash is None else crash.message).partition("\n")[0]
