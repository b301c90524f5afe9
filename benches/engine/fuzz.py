"""Figure 11: the response scanner against an independent reader, on answers by the million."""

import re

from benches.engine.figure import Figure, Part, exactly
from benches.engine.process import BenchError, run
from benches.engine.setting import Setting

N_CASES, N_CASES_QUICK = 10_000_000, 100_000
_TEST = (
    "cargo", "test", "--release", "--locked", "-p", "httpdyno-load", "--lib", "fuzz_scanner_long",
    "--", "--ignored", "--nocapture",
)  # fmt: skip
_EQUAL = re.compile(r"^(\d+) cases of seed .* all equal", re.MULTILINE)
_DIFFERENT = re.compile(r"test result: FAILED")
_PATIENCE_S = 3600.0


def measure(setting: Setting) -> Figure:
    """Measure figure 11."""
    figure = Figure(number=11, name="answers read as an independent reader reads them")
    n_cases = setting.sized(N_CASES, N_CASES_QUICK)
    ended = run(_TEST, timeout_s=_PATIENCE_S, environment={"HTTPDYNO_FUZZ_CASES": str(n_cases)})
    figure.raw = {"stdout": ended.stdout[-8000:], **ended.record()}
    equal = _EQUAL.search(ended.stdout)
    if ended.status == 0 and equal:
        n_equal, note = int(equal.group(1)), "all equal"
    elif _DIFFERENT.search(ended.stdout):
        n_equal, note = 0, "they differ: see the raw output"
    else:
        raise BenchError(f"the comparison did not run: {ended.stderr.strip()[-400:]}")
    figure.parts = [
        Part(
            name="cases without a difference",
            estimate=exactly(n_equal),
            at_least=n_cases,
            digits=10,
            note=note,
        )
    ]
    figure.command = " ".join(_TEST)
    return figure
