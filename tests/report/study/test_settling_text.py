"""When answers are steady after an event: on the terminal, on the page and in JSON."""

from msgspec import structs
from tests.report import sample_second
from tests.report.page import shown
from tests.report.plain import plain_text

from httpdyno.model import Phase
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.phases import settling_lines
from httpdyno.report.study.text import outcome_text


def restarted(cold, warm=1.0, spread=0.0):
    """Return a comparison with phases after a restart; `cold` and `warm` are over `expired`.

    Starts differ by `spread` in those two.
    """
    whole = sample_second.phased()
    assert whole.final is not None
    method = whole.plan.study.method
    phases = (
        Phase(name="cold", run=("restart",)),
        *(Phase(name=name) for name in ("warm", "expired")),
    )
    study = structs.replace(
        whole.plan.study, method=structs.replace(method, phases=phases, window_s=1.0)
    )

    def with_starts(arm):
        def seen(share, spread=spread):
            return {"p90": tuple(0.01 * share * (1 + spread * (n % 3 - 1)) for n in range(6))}

        own = {
            name: structs.replace(arm.phases[name], start_latency_s=seen(share))
            for name, share in (("cold", cold), ("warm", warm))
        }
        return structs.replace(arm, phases=own, start_latency_s=seen(1.0, 0.0))

    final = structs.replace(whole.final, a=with_starts(whole.final.a), b=with_starts(whole.final.b))
    plan = structs.replace(whole.plan, study=study)
    return structs.replace(whole, plan=plan, final=final)


REACHED = (
    "a: p90 at most 10 % above that of “expired” from “warm” on, after 1.00 s of load; so it is by "
    "the spread over 6 starts"
)


def test_terminal_page_and_json_say_from_which_phase_on_answers_are_steady():
    outcome = restarted(4.0)
    assert settling_lines(outcome)[0] == REACHED
    assert REACHED in " ".join(plain_text(outcome_text(outcome)).split())
    assert REACHED in " ".join(shown(outcome_html(outcome)).split())
    told = outcome_json(outcome)["settling"]
    assert [each["name"] for each in told] == ["a", "b"]
    assert (told[0]["settled"], told[0]["percentile"], told[0]["last"]) == (
        "warm",
        "p90",
        "expired",
    )
    assert [each["ratio"] for each in told[0]["phases"]] == [4.0, 1.0]


def test_where_it_is_not_reached_the_end_of_the_last_but_one_is_said():
    assert (
        "not before the end of “warm”, after 2.00 s of load"
        in settling_lines(restarted(4.0, warm=1.3))[0]
    )


def test_what_the_spread_leaves_open_is_said_once():
    [line, _] = settling_lines(restarted(4.0, warm=1.2, spread=0.2))
    assert line.endswith(
        "not before the end of “warm”, after 2.00 s of load; by the spread over 6 starts perhaps "
        "from “warm” on, after 1.00 s of load"
    )


def test_where_the_first_is_steady_it_is_said_so():
    assert "from “cold” on, the first; so it is" in settling_lines(restarted(1.0))[0]


def test_phases_without_an_event_say_nothing_of_it():
    outcome = sample_second.phased()
    assert settling_lines(outcome) == []
    assert not outcome_json(outcome)["settling"]
