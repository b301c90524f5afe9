"""The ten figures: what is measured how often, and what must come of it."""

from functools import partial

from benches.power.figure import Figure
from benches.power.judgement import (
    counts_held,
    counts_same,
    judged_found,
    judged_held,
    judged_same,
)
from benches.power.known import CPU, MOST, SERVER_S, THROUGHPUT, Worker
from benches.power.ladders import POOL_S, judged_kept, ladder, pool
from benches.power.latency import delays, judged_delays
from benches.power.planted import AROUND_S, Planted
from benches.power.simulated import judged_simulated, simulations
from benches.power.tuned import ASP_BUDGET_S, ASP_S, DEMO_S, Tuning, judged_demo, judged_final

_NAMES: dict[Worker, str] = {"gunicorn": "gunicorn", "apache": "Apache"}
_KNOWN_S = len(_NAMES) * MOST * SERVER_S
_SAME = (
    Planted(figure=1, name="A/A gunicorn", n=100, longest_s=20 + AROUND_S),
    Planted(figure=1, name="A/A Apache", n=100, longest_s=20 + AROUND_S, server="pool"),
)


def _planted(
    figure: int, size: float, budget_s: int, metric: str = THROUGHPUT
) -> tuple[Planted, ...]:
    """Return a difference, planted in each of the servers."""
    what = " CPU" if metric == CPU else ""
    return tuple(
        Planted(
            figure=figure,
            name=f"{size:+.0%}".replace("%", " %") + f"{what} {_NAMES[worker]}",
            n=20,
            longest_s=budget_s + AROUND_S,
            size=size,
            server=worker,
            metric=metric,
            budget_s=budget_s,
        )
        for worker in _NAMES
    )


_LARGE, _SMALL, _LEAST = _planted(2, 0.5, 20), _planted(3, 0.1, 20), _planted(4, 0.03, 60, CPU)

FIGURES = {
    figure.number: figure
    for figure in (
        Figure(
            number=1,
            name="a configuration against itself",
            must="≤ 5 % claims, ≤ 8 % at the upper end of 95 %; simulated ≤ 5 % of each shape",
            cases=(*_SAME, *simulations(1)),
            counts=counts_same,
            judge=lambda shown: judged_same(shown) + judged_simulated(shown),
        ),
        Figure(
            number=2,
            name="+50 % of a request's time",
            must="all found in 20 s, median of each within 6 s after both servers are up",
            cases=_LARGE,
            judge=partial(judged_found, least_ratio=1.0, within_s=6.0),
            before_s=_KNOWN_S,
        ),
        Figure(
            number=3,
            name="+10 % of a request's time",
            must="≥ 18 of 20 of each server found in 20 s",
            cases=_SMALL,
            judge=partial(judged_found, least_ratio=0.9),
            before_s=_KNOWN_S,
        ),
        Figure(
            number=4,
            name="+3 % CPU per request, which decides",
            must="≥ 16 of 20 of each server found in 60 s",
            cases=_LEAST,
            judge=partial(judged_found, least_ratio=0.8),
            before_s=_KNOWN_S,
        ),
        Figure(
            number=5,
            name="intervals of figures 1 to 4",
            must="≥ 95 % hold the truth: of the same, and of planted differences",
            rests_on=(*_SAME, *_LARGE, *_SMALL, *_LEAST),
            counts=counts_held,
            judge=judged_held,
        ),
        Figure(
            number=6,
            name="latencies and locks",
            must="no wrong sign, claimed or not, ≥ 95 % hold the truth, a claim or what it takes",
            cases=delays(6, 5),
            judge=judged_delays,
        ),
        Figure(
            number=7,
            name="`make demo`",
            must="eight verdicts, the same in ≥ 5 of 6, or what open ones take is said; ≤ 4 min",
            cases=(
                Tuning(
                    figure=7, name="demo", n=6, unit="runs", longest_s=DEMO_S, command=("demo",)
                ),
            ),
            judge=judged_demo,
        ),
        Figure(
            number=8,
            name="`asp-bookmarks`",
            must="each low end ≥ 4.0, the intervals overlap; ≤ 5 min",
            cases=(
                Tuning(
                    figure=8,
                    name="asp-bookmarks",
                    n=5,
                    unit="runs",
                    longest_s=ASP_S,
                    command=("tune", "asp-bookmarks", "--budget", f"{ASP_BUDGET_S}s"),
                ),
            ),
            judge=judged_final,
        ),
        Figure(
            number=9,
            name="150 processes, four knobs",
            must="2 × and 1.15 × of the work kept each time, ≤ 5 % of placebos; ≤ 2 min 30 s",
            cases=(pool(9, 10),),
            judge=partial(
                judged_kept, least_real_ratio=1.0, most_placebos_ratio=0.05, within_s=POOL_S
            ),
        ),
        Figure(
            number=10,
            name="a ladder of six knobs",
            must="≥ 18 of 20 real ones (+24 %, +8 % of the work) kept, ≤ 2 of 40 placebos",
            cases=(ladder(10, 10),),
            judge=partial(judged_kept, least_real_ratio=0.9, most_placebos_ratio=0.05),
        ),
    )
}
