"""The ten figures: what is measured how often, and what must come of it."""

from functools import partial

from benches.power.figure import Figure
from benches.power.ladders import POOL_S, judged_kept, ladder, pool
from benches.power.latency import delays, judged_delays
from benches.power.planted import (
    AROUND_S,
    CPU,
    N_REFERENCES,
    REFERENCE_S,
    Planted,
    judged_found,
    judged_held,
    judged_same,
)
from benches.power.simulated import judged_simulated, simulations
from benches.power.tuned import ASP_BUDGET_S, ASP_S, DEMO_S, Tuning, judged_demo, judged_final

_REFERENCES_S = N_REFERENCES * (REFERENCE_S + AROUND_S)

FIGURES = {
    figure.number: figure
    for figure in (
        Figure(
            number=1,
            name="a configuration against itself",
            must="≤ 5 % claims, ≤ 8 % at the upper end of 95 %; simulated ≤ 5 % of each shape",
            cases=(
                Planted(figure=1, name="A/A gunicorn", n=100, longest_s=20 + AROUND_S),
                Planted(
                    figure=1, name="A/A Apache", n=100, longest_s=20 + AROUND_S, server="apache"
                ),
                *simulations(1),
            ),
            judge=lambda shown: judged_same(shown) + judged_simulated(shown),
        ),
        Figure(
            number=2,
            name="+50 % of work",
            must="all found, median within 6 s",
            cases=(Planted(figure=2, name="+50 %", n=20, longest_s=20 + AROUND_S, size=0.5),),
            judge=partial(judged_found, least_ratio=1.0, within_s=6.0),
            before_s=_REFERENCES_S,
        ),
        Figure(
            number=3,
            name="+10 % of work",
            must="≥ 18 of 20 found in 20 s",
            cases=(Planted(figure=3, name="+10 %", n=20, longest_s=20 + AROUND_S, size=0.1),),
            judge=partial(judged_found, least_ratio=0.9),
            before_s=_REFERENCES_S,
        ),
        Figure(
            number=4,
            name="+3 % of work, by CPU per request",
            must="≥ 16 of 20 found in 60 s",
            cases=(
                Planted(
                    figure=4,
                    name="+3 % CPU",
                    n=20,
                    longest_s=60 + AROUND_S,
                    size=0.03,
                    metric=CPU,
                    budget_s=60,
                ),
            ),
            judge=partial(judged_found, least_ratio=0.8),
            before_s=_REFERENCES_S,
        ),
        Figure(
            number=5,
            name="intervals of figures 1 to 4",
            must="≥ 95 % hold the truth",
            rests_on=(1, 2, 3, 4),
            judge=judged_held,
        ),
        Figure(
            number=6,
            name="latencies and locks",
            must="no wrong sign, ≥ 95 % hold the truth, a claim or what it takes",
            cases=delays(6, 5),
            judge=judged_delays,
        ),
        Figure(
            number=7,
            name="`make demo`",
            must="the same verdicts in ≥ 5 of 6, or what is open is said; ≤ 4 min",
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
            must="both real ones kept each time; ≤ 2 min 30 s",
            cases=(pool(9, 10),),
            judge=partial(
                judged_kept, least_real_ratio=1.0, most_placebos_ratio=0.05, within_s=POOL_S
            ),
        ),
        Figure(
            number=10,
            name="a ladder of six knobs",
            must="≥ 18 of 20 real ones kept, ≤ 2 of 40 placebos",
            cases=(ladder(10, 10),),
            judge=partial(judged_kept, least_real_ratio=0.9, most_placebos_ratio=0.05),
        ),
    )
}
