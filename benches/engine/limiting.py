"""Figure 6: whether a run says rightly who kept it from doing more.

Scenarios are built out of processes, so that who is limiting is known beforehand; besides them
fifty runs in which nothing is wrong.
"""

from functools import partial
from typing import Any

from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.process import BenchError
from benches.engine.quiet import Quiet, Watch
from benches.engine.scenario import CLIENT, DISTURBED, SCENARIOS, Scenario, plain
from benches.engine.setting import Setting

N_HEALTHY, N_HEALTHY_QUICK = 50, 10
HEALTHY_RATES_PER_S = (500, 1_000, 2_000, 4_000)
_HEALTHY_S = 2.0

Verdict = dict[str, Any]


def measure(setting: Setting) -> Figure:
    """Measure figure 6."""
    figure = Figure(number=6, name="who was limiting")
    quiet: Quiet[Verdict] = Quiet()
    verdicts = [quiet.run(partial(_verdict, setting, scenario)) for scenario in SCENARIOS]
    healthy = [
        quiet.run(partial(_healthy, setting, n))
        for n in range(setting.sized(N_HEALTHY, N_HEALTHY_QUICK))
    ]
    figure.raw = {"scenarios": verdicts, "healthy": healthy, "discarded": quiet.discarded}
    figure.notes += quiet.notes()
    n_built = sum("failure" not in each for each in verdicts)
    wrong = [each for each in verdicts if not each.get("is_right")]
    blamed = [each["name"] for each in verdicts if each.get("is_server_blamed")]
    alarms = [each for each in healthy if not each["is_right"]]
    figure.parts = [
        Part(
            name=f"wrong in {len(SCENARIOS)} scenarios",
            estimate=exactly(len(wrong)) if n_built == len(SCENARIOS) else None,
            at_most=0,
            note="; ".join(_told(each) for each in wrong),
        ),
        Part(
            name='"server" when it was the client',
            estimate=exactly(len(blamed)),
            at_most=0,
            note=", ".join(blamed),
        ),
        Part(
            name=f"false alarms in {len(healthy)} healthy runs",
            estimate=exactly(len(alarms)),
            at_most=0,
            note=", ".join(f"{each['name']}: {each['said']}" for each in alarms),
        ),
    ]
    figure.command = (
        "taskset -c 1 httpdyno load URL -d 3s   # beside: taskset -c 1 sh -c 'while :; do :; done'"
    )
    return figure


def _verdict(setting: Setting, scenario: Scenario) -> Verdict:
    watch = Watch()
    try:
        done = scenario.run(setting)
    except BenchError as error:
        return {"name": scenario.name, "failure": str(error)}
    said = done.window["limited_by"]
    limits = scenario.limits | (DISTURBED if watch.was_disturbed() else frozenset())
    return {
        "name": scenario.name,
        "said": said,
        "expected": sorted(limits),
        "is_right": said in limits,
        "is_server_blamed": said.startswith("server") and scenario.limits <= CLIENT,
        "run": done.record(),
    }


def _healthy(setting: Setting, index: int) -> Verdict:
    """Run with nothing wrong: in turn at a rate that all can do, and as many as are answered."""
    rate = HEALTHY_RATES_PER_S[index // 2 % len(HEALTHY_RATES_PER_S)]
    if index % 2:
        service = ("--service", "exp:5ms", "--workers", "2")
        run = plain(*service, duration_s=_HEALTHY_S, connections=8)
        name, expected = "closed loop of 5 ms, two at a time", "server"
    else:
        run = plain(duration_s=_HEALTHY_S, arrival=engine.even(rate))
        name, expected = f"{rate}/s", "rate"
    done = run(setting)
    said = done.window["limited_by"]
    return {
        "name": name,
        "said": said,
        "expected": [expected],
        "is_right": said == expected,
        "run": done.record(),
    }


def _told(verdict: Verdict) -> str:
    if "failure" in verdict:
        return f"{verdict['name']}: {verdict['failure']}"
    return f"{verdict['name']}: said {verdict['said']}, not {' or '.join(verdict['expected'])}"
