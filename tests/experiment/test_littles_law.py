"""Little's law checks what is credited, and what it contradicts is not claimed by that much."""

import numpy as np
import pytest
from msgspec import structs
from tests.experiment.cycles import LENGTHS, cheaper, seen_cycles, start_of
from tests.rows import each_row

from httpdyno.experiment.decide.claim import Terms, claim, comparison
from httpdyno.experiment.decide.evidence import little_doubt
from httpdyno.experiment.trial.cycles import CycleMoments, choose_windows, little_check
from httpdyno.model import Configuration, Cycles, Objective
from httpdyno.report.shared.message import joined, text

N_STARTS = 8


def steady_starts(kind, ratio, mend=lambda cycles, _n_ended: cycles):
    """Return starts of two arms, the second of which is faster by that ratio."""
    rng = np.random.default_rng(5)
    lengths = [lambda rng, n: 0.11 * LENGTHS[kind](rng, n)]
    lengths.append(lambda rng, n: 0.11 / ratio * LENGTHS[kind](rng, n))
    known = [
        CycleMoments(n=1_000, sum_s=float(x.sum()), sum_s2=float((x * x).sum()))
        for x in (draw(rng, 1_000) for draw in lengths)
    ]
    choice = choose_windows(known, n_users=8, n_blocks=4, window_s=0.25, lead_in_s=0.1)
    return [
        start_of(
            number,
            [
                [mend(*seen_cycles(rng, draw, 8, choice)) for _ in range(choice.n_blocks)]
                for draw in lengths
            ],
            choice.measure_s,
        )
        for number in range(N_STARTS)
    ]


@each_row("kind", LENGTHS)
def test_a_steady_loop_agrees_and_is_claimed(kind):
    starts = steady_starts(kind, 1.5)
    assert little_doubt(starts).complaints == ()
    state = claim(starts, Terms(objective=Objective(), min_starts=6))
    assert state.verdict == "better"
    assert state.interval is not None
    assert state.interval.low <= 1.5 <= state.interval.high


def test_too_few_starts_say_what_time_the_others_take():
    starts = steady_starts("constant", 1.5)[:3]
    arms = Configuration(values={"k": 1}), Configuration(values={"k": 2})
    told = comparison(1, starts, arms, Terms(objective=Objective(), min_starts=6))
    assert joined(told.reasons) == "the time was over after 3 of at least 6 starts"
    assert told.needed_s == 3 * 1.0, "each took a second"


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "inconclusive"), (1.2, "better")])
def test_a_window_that_counts_ended_answers_is_caught_and_the_interval_has_it_in_it(ratio, verdict):
    # Phases as if all users had begun together: whole answers of each.
    def broken(cycles, n_ended):
        del n_ended
        return structs.replace(cycles, credit=cycles.n_users * (cycles.credit // cycles.n_users))

    starts = steady_starts("constant", ratio, broken)
    assert "Little's law" in joined(little_doubt(starts).complaints)
    state = claim(starts, Terms(objective=Objective(), min_starts=6))
    assert state.verdict == verdict
    assert "Little's law" in joined(state.reasons)
    assert state.interval is not None
    assert state.interval.low <= ratio <= state.interval.high
    arms = Configuration(values={"k": 1}), Configuration(values={"k": 2})
    told = comparison(1, starts, arms, Terms(objective=Objective(), min_starts=6))
    assert [each.code for each in told.warnings] == ["experiment.little"]
    # Other figures do not hang on it.
    cpu = claim(starts, Terms(objective=Objective(metric="cpu_s_per_request"), min_starts=6))
    assert "Little" not in joined(cpu.reasons)


def test_where_nothing_began_nothing_can_be_checked():
    empty = Cycles(
        credit=2.0, n_users=4, begun=0, begun_right=0, begun_s=0, begun_s2=0, longest_s=0
    )
    starts = [start_of(number, [[empty], [empty]], 1.0) for number in range(6)]
    assert "no cycle of a began" in joined(little_doubt(starts).complaints)


def test_answers_that_never_came_are_no_small_matter():
    def cut(cycles, _n_ended):
        return structs.replace(cycles, open_credit=cycles.credit * 0.1, n_open=1)

    assert "might have added 10%" in joined(
        little_doubt(steady_starts("constant", 1.2, cut)).complaints
    )


def test_users_who_wait_all_the_time_are_left_out_and_told():
    def starving(cycles, _n_ended):
        return structs.replace(cycles, n_users=cycles.n_users + 3, n_starved=3)

    starts = steady_starts("constant", 1.2, starving)
    assert little_doubt(starts).complaints == ()
    arms = Configuration(values={"k": 1}), Configuration(values={"k": 2})
    told = comparison(1, starts, arms, Terms(objective=Objective(), min_starts=6))
    assert [each.code for each in told.warnings] == ["experiment.starved_users"]
    assert "up to 3 of 11" in text(told.warnings[0].reason)


def test_fresh_windows_must_hold_many_answers_of_each_user():
    def fresh(cycles, _n_ended):
        return structs.replace(cycles, is_fresh=True, begun_s=cycles.begun_s * 1.5)

    few = steady_starts("constant", 1.2, fresh)
    assert "begin with the load" in joined(little_doubt(few).complaints)

    def many(cycles, _n_ended):
        return structs.replace(fresh(cycles, 0), credit=cycles.credit * 100)

    assert little_doubt(steady_starts("constant", 1.2, many)).complaints == ()


def test_an_open_loop_has_no_users_to_check():
    starts = steady_starts("constant", 1.2)
    open_loop = [
        structs.replace(
            start,
            windows=tuple(
                structs.replace(w, measurement=structs.replace(w.measurement, cycles=None))
                for w in start.windows
            ),
        )
        for start in starts
    ]
    assert little_check(open_loop, 0) is None
    assert "without following" in joined(little_doubt([starts[0], open_loop[1]]).complaints)


def test_what_a_doubted_throughput_seems_to_keep_is_no_proof_for_a_tie_breaker():
    def broken(cycles, _n_ended):
        return structs.replace(cycles, credit=cycles.credit * 1.1)

    objective = Objective(tie_breaker="cpu_s_per_request")
    cheaper_starts = cheaper(steady_starts("constant", 1.0, broken))
    state = claim(cheaper_starts, Terms(objective=objective, min_starts=6))
    assert state.verdict == "inconclusive"
    assert "Little's law" in joined(state.reasons)
    sound = [
        structs.replace(
            fresh,
            windows=tuple(
                structs.replace(w, telemetry=old.telemetry)
                for w, old in zip(fresh.windows, cheaper.windows, strict=True)
            ),
        )
        for fresh, cheaper in zip(steady_starts("constant", 1.0), cheaper_starts, strict=True)
    ]
    assert claim(sound, Terms(objective=objective, min_starts=6)).decided_by == "cpu_s_per_request"
