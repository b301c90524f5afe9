"""What limited each configuration, as it was looked at: which rows there are, and what moved."""

import re

import pytest
from msgspec import structs
from tests.report import sample_looks
from tests.report.page import shown
from tests.report.plain import plain_text
from tests.report.sample import ladder
from tests.report.sample_figures import with_figures
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck, differences, unmoved_calls
from httpdyno.model import AnswerTime, Look, OwnAccount, Phase, RatioInterval
from httpdyno.reason import because
from httpdyno.report.shared.bottleneck import answer_time_text, difference_text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.limit import brief_limits, limit_rows, own_account_text
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

SLOW = Look(
    seconds=0.7,
    n_samples=14,
    workers=4.0,
    doing={"disk": 3.5, "running": 0.5},
    cpu_s=0.2,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.5,
    write_calls=1400,
    written_bytes=1_000_000,
    births=14,
    answers=100.0,
    clients=4.0,
    client_limit="server",
)
FAST = structs.replace(
    SLOW, doing={"running": 4.0}, cpu_s=1.3, host_busy=1.9, write_calls=600, written_bytes=0
)


def with_looks(outcome, looks):
    """Give the arms of the n-th step such looks; None: nobody looked."""
    steps = []
    for step, (a, b) in zip(outcome.steps, looks, strict=True):
        arms = {
            name: structs.replace(arm, look=look, bottleneck=look and bottleneck(look))
            for name, arm, look in (("a", step.comparison.a, a), ("b", step.comparison.b, b))
        }
        steps.append(structs.replace(step, comparison=structs.replace(step.comparison, **arms)))
    return structs.replace(outcome, steps=tuple(steps))


def seen():
    outcome = ladder()
    looks = [(SLOW, FAST), *[(None, FAST)] * (len(outcome.steps) - 1)]
    return with_looks(outcome, looks)


@each_row(
    ("changes", "words"),
    [
        ({}, "the load client used 0.6 cores, others used 0.4 cores"),
        ({"client_cpu_s": 0.0, "cpu_s": 0.7}, "others used 1.0 cores"),
        # The server's own workers wait for one another.
        ({"client_cpu_s": 0.07, "cpu_s": 1.33}, ""),
        # Nobody had to wait for a CPU; and a look of a build that did not count.
        ({"host_run_queue": 2.0}, ""),
        ({"host_run_queue": 0.0}, ""),
    ],
)
def test_the_machines_run_queue_is_told_where_others_or_the_client_took_its_cpus(changes, words):
    look = structs.replace(FAST, host_busy=2.0, cpu_s=0.7, client_cpu_s=0.42, host_run_queue=5.2)
    outcome = ladder()
    looks = [(structs.replace(look, **changes), None), *[(None, None)] * (len(outcome.steps) - 1)]
    told = f"5.2 threads ran or were ready on the machine's 2 CPUs in the mean; {words}"
    outcome = with_looks(outcome, looks)
    assert limit_rows(outcome)[0].run_queue == (told if words else "")
    for report in (
        plain_text(outcome_text(outcome, is_verbose=True)),
        shown(outcome_html(outcome)),
    ):
        assert (told in " ".join(report.split())) is bool(words)
        assert ("threads ran or were ready" in report) is bool(words)


def test_the_start_and_each_kept_change_have_a_row():
    outcome = seen()
    rows = limit_rows(outcome)
    kept = [step.change for step in outcome.steps if step.kept]
    assert [row.name for row in rows] == ["start", *kept]
    assert rows[0].limit == "a disk"
    assert rows[0].moved == ()
    assert "disk" in rows[0].reason


def test_a_change_says_what_it_moved_also_where_its_before_was_looked_at_elsewhere():
    rows = limit_rows(seen())
    assert rows[1].moved[0] == "write calls of an answer 14 → 6.0"
    assert rows[1].moved[2].startswith("workers that waited for a disk")
    # The next one's `before` is what the first step was looked at as: nothing moved.
    assert rows[2].moved == ()


def test_where_nobody_looked_there_is_nothing_to_tell():
    assert limit_rows(ladder()) == []
    assert "what limited it" not in plain_text(outcome_text(ladder(), is_verbose=True))
    assert "What limited it" not in shown(outcome_html(ladder()))


def test_terminal_and_page_have_it():
    text = " ".join(plain_text(outcome_text(seen(), is_verbose=True)).split())
    assert "start: a disk; of 4.0 busy workers 3.5 waited for a disk" in text
    assert "write calls of an answer 14 → 6.0" in text
    short = " ".join(plain_text(outcome_text(seen())).split())
    assert "start: a disk" in short
    assert "write calls" not in short
    page = shown(outcome_html(seen()))
    assert "What limited it" in page
    assert "write calls of an answer 14 → 6.0" in page


@pytest.mark.parametrize(
    ("worker_s", "client_s", "words"),
    [
        (
            0.0041,
            0.012,
            "an answer takes 4.1 ms of a worker and 12 ms at the client: "
            "7.9 ms in queues and on the wire",
        ),
        (0.0118, 0.012, "an answer takes 12 ms of a worker, and hardly any time in queues"),
    ],
)
def test_an_answers_time_is_told_by_where_it_goes(worker_s, client_s, words):
    assert answer_time_text(AnswerTime(worker_s=worker_s, client_s=client_s)) == words


def test_terminal_page_and_json_have_an_answers_time():
    outcome, words = seen(), "an answer takes 28 ms of a worker, and hardly any time in queues"
    assert words in " ".join(plain_text(outcome_text(outcome, is_verbose=True)).split())
    assert words in shown(outcome_html(outcome))
    arm = outcome_json(outcome)["steps"][0]["comparison"]["a"]
    time = arm["bottleneck"]["answer_time"]
    assert (time["worker_s"], time["client_s"]) == (0.028, 0.028)
    assert time["split"] == pytest.approx({"disk": 0.0245, "running": 0.0035})
    split = "at the worker it is waiting for a disk 88 %, on a CPU or ready for one 12 %"
    assert f"{words}; {split}" in shown(outcome_html(outcome))


@pytest.mark.parametrize(
    ("account", "words"),
    [
        (
            OwnAccount(
                server="Apache",
                of="workers",
                n_answers=3,
                states={"_ waiting": 1.0, "W answering": 9.0, "R reading": 0.01},
            ),
            "Apache's own status page: W answering 90 %, _ waiting 10 % of its workers' time",
        ),
        (
            OwnAccount(server="nginx", of="connections", n_answers=3, states={"writing": 1.5}),
            "nginx's own status page, mean connections: writing 1.5",
        ),
        (
            OwnAccount(server="php-fpm", of="processes", n_answers=1, states={}),
            "php-fpm's own status page: no other processes",
        ),
        (
            OwnAccount(
                server="gunicorn",
                of="workers",
                n_answers=105,
                states={},
                requests_per_s=150.0,
                answer_s=0.02,
                remarks=(because("telemetry.answers_of_class", digit="5", n=3),),
            ),
            "gunicorn's own statsd: 150/s requests, an answer takes 20 ms of a worker, 3.0 of 4.0 "
            "workers at answers, answers of 5xx: 3; the client saw 143/s right answers, each after "
            "28 ms",
        ),
        (
            OwnAccount(server="gunicorn", of="workers", n_answers=9, states={}, answer_s=0.002),
            "gunicorn's own statsd: an answer takes 2.0 ms of a worker; the client saw 143/s right "
            "answers, each after 28 ms",
        ),
    ],
)
def test_what_a_server_says_of_itself_is_one_line(account, words):
    assert own_account_text(account, SLOW) == words
    looks = [(structs.replace(SLOW, own=(account,)), FAST), *[(None, None)] * 5]
    outcome = with_looks(ladder(), looks)
    assert words in " ".join(plain_text(outcome_text(outcome, is_verbose=True)).split())
    assert words in shown(outcome_html(outcome))


@pytest.mark.parametrize("factor", [1.4, 0.7])
def test_what_moved_by_less_than_half_is_not_told(factor):
    after = structs.replace(SLOW, write_calls=int(SLOW.write_calls * factor))
    assert differences(SLOW, after) == ()


def test_processes_that_live_between_two_samples_are_counted_by_the_machine():
    """A process for each answer: a third of them was seen."""
    cgi = structs.replace(SLOW, seconds=1.0, births=50, host_forks=160, answers=150.0)
    after = structs.replace(cgi, births=0, host_forks=2)
    [found] = [each for each in differences(cgi, after) if "forks" in each.figure]
    assert difference_text(found) == "processes begun a second on this machine 160 → 2.0"


@pytest.mark.parametrize("forks", [None, 6])
def test_processes_of_a_pool_are_counted_as_they_were_seen(forks):
    before = structs.replace(SLOW, seconds=1.0, births=4, host_forks=forks)
    after = structs.replace(before, births=0)
    [found] = [each for each in differences(before, after) if "forks" in each.figure]
    assert difference_text(found) == "processes begun a second, at least 4.0 → 0.0"


def test_without_answers_nothing_can_be_compared():
    assert differences(SLOW, structs.replace(FAST, answers=0.0)) == ()


def test_system_calls_are_told_where_they_were_counted_before_and_after():
    """A look at the same configuration in a later comparison has them, the first one not."""
    before = structs.replace(SLOW, calls={"open": 9.0, ".htaccess": 4.0, "stat": 12.0}, n_traced=20)
    after = structs.replace(FAST, calls={"open": 1.0, "stat": 12.0}, n_traced=20)
    [little] = unmoved_calls(before, structs.replace(after, calls={"open": 1.0, "stat": 14.0}))
    assert difference_text(little) == "lookups 12 → 14"
    outcome = ladder()
    n_more = len(outcome.steps) - 2
    outcome = with_looks(outcome, [(before, FAST), (after, None), *[(None, FAST)] * n_more])
    moved = limit_rows(outcome)[1].moved
    assert moved[0] == "opens of .htaccess for an answer 4.0 → 0.0"
    assert moved[1] == "files opened for an answer 9.0 → 1.0"
    assert "locks" not in " ".join(moved)
    # What was counted and stayed is told too: it is not the reason.
    assert moved[-1] == "moved by less than half, for an answer: lookups 12 as before"


def test_memory_that_starts_show_to_have_moved_stands_first_also_without_a_look_at_both():
    outcome = ladder()
    first, *others = outcome.steps
    interval = RatioInterval(ratio=0.7, low=0.68, high=0.75, confidence=0.95)
    arms = (first.comparison.a, first.comparison.b)
    a, b = (
        with_figures(arm, uss_bytes_per_process=mib * 2**20, pss_bytes=40.0 * 2**20)
        for arm, mib in zip(arms, (3.1, 2.2), strict=True)
    )
    comparison = structs.replace(first.comparison, a=a, b=b, ratios={"uss_per_process": interval})
    outcome = structs.replace(
        outcome, steps=(structs.replace(first, comparison=comparison), *others)
    )
    looked = with_looks(outcome, [(None, FAST), *[(None, None)] * len(others)])
    told = [row for row in limit_rows(looked) if row.name == first.change]
    assert told[0].moved[0] == "private memory of a process 3.10 MiB → 2.20 MiB"


def test_writes_that_were_counted_are_told_also_beside_processes_that_ended():
    before = structs.replace(SLOW, calls={"write": 14.0}, n_traced=20, deaths=3)
    after = structs.replace(FAST, calls={"write": 6.0}, n_traced=20)
    told = {each.figure: difference_text(each) for each in differences(before, after, most=99)}
    assert told["writes"] == "writes for an answer 14 → 6.0"
    # Where nobody ended, those of all answers of the look are known, and say the same.
    both = differences(structs.replace(before, deaths=0), after, most=99)
    named = {each.figure for each in both}
    assert "write_calls" in named
    assert "writes" not in named


def test_calls_that_were_counted_on_one_side_only_are_no_difference():
    before = structs.replace(SLOW, calls={"open": 9.0}, n_traced=20)
    assert "opens" not in {each.figure for each in differences(before, FAST)}


LIMITED = sample_looks.all_outcomes()


@pytest.mark.parametrize("name", LIMITED)
def test_levels_combinations_and_lost_steps_are_told_as_agreed(name, golden):
    text = plain_text(outcome_text(LIMITED[name]))
    page = shown(outcome_html(LIMITED[name]))
    parts = (
        re.search(r"^what limited it.*?(?=\n\n)", text, re.DOTALL | re.MULTILINE),
        re.search(r"^## What limited it.*?(?=\n## |\n\n|\Z)", page, re.DOTALL | re.MULTILINE),
    )
    golden(f"report/{name}.txt", "".join(f"{part and part[0].rstrip()}\n" for part in parts))


def with_points(change):
    """Return the sweep with its points changed, and without a final claim."""
    whole = LIMITED["limited_sweep"]
    assert whole.sweep is not None
    sweep = structs.replace(whole.sweep, points=tuple(change(whole.sweep.points)))
    return structs.replace(whole, sweep=sweep, final=None)


@pytest.mark.parametrize(
    ("decides", "words"),
    [
        (
            "cold",
            "(seen in 700 ms of load each, of one start, as the last phase, “warm”, left the "
            "server, at the load of “cold”)",
        ),
        ("warm", ", as the last phase, “warm”, left the server, at its load)"),
    ],
)
def test_with_phases_it_says_what_was_looked_at(decides, words):
    """Not the phase that decides: what its command did is over by then."""
    whole = seen()
    phases = (Phase(name="cold", run=("true",)), Phase(name="warm"))
    method = structs.replace(whole.plan.study.method, phases=phases, decides=decides)
    study = structs.replace(whole.plan.study, method=method)
    whole = structs.replace(whole, plan=structs.replace(whole.plan, study=study))
    assert words in " ".join(plain_text(outcome_text(whole, is_verbose=True)).split())
    told = words.strip("()").removeprefix("seen")
    assert f"{told}: reasons, not proofs" in " ".join(shown(outcome_html(whole)).split())


def test_a_sweep_without_a_final_claim_has_its_line_and_a_gap_where_nobody_looked():
    whole = with_points(
        lambda points: (
            structs.replace(p, arm=structs.replace(p.arm, look=None)) if p.level == 8 else p
            for p in points
        )
    )
    assert limit_rows(whole) == []
    [line] = brief_limits(whole)
    assert f"{line.name}{line.text}" == (
        "MaxRequestWorkers 1 … 2: too few workers; 4: a backend; 16 … 32: a backend; 64 … 256: CPU"
    )
    assert line.text in plain_text(outcome_text(whole, is_verbose=True)).replace("\n  ", " ")
    assert "What limited it" in shown(outcome_html(whole))


def test_levels_that_are_words_are_no_range():
    whole = with_points(
        lambda points: (structs.replace(p, level=f"of {p.level}") for p in points[2:4])
    )
    [line] = brief_limits(whole)
    assert line.text == " of 4, of 8: a backend"


def test_a_factorial_without_a_final_claim_tells_its_start():
    lines = brief_limits(structs.replace(LIMITED["limited_factorial"], final=None))
    assert [f"{line.name}{line.text}" for line in lines] == [
        "start: CPU",
        "keep_alive → true: a backend",
        "keep_alive → true, mpm → event: a backend",
        "mpm → event: the start's limit (CPU)",
    ]


def test_steps_that_were_lost_to_the_start_s_limit_have_one_line():
    lines = brief_limits(LIMITED["limited_ladder"])
    assert [f"{line.name}{line.text}" for line in lines] == [
        "workers: 5 → 2: a backend",
        "2 lost steps: the start's limit (CPU)",
    ]


def test_a_single_step_that_was_lost_to_it_is_named():
    whole = LIMITED["limited_ladder"]
    lost = [step for step in whole.steps if not step.kept]
    kept = [step for step in whole.steps if step.kept]
    lines = brief_limits(structs.replace(whole, steps=(*kept, lost[0])))
    assert [f"{line.name}{line.text}" for line in lines] == [
        f"{lost[0].change}: the start's limit (CPU)"
    ]
    assert brief_limits(structs.replace(whole, steps=tuple(kept))) == []


def test_the_card_of_each_trial_has_what_limited_it_and_its_memory():
    """Of a step that was lost to the same limit, too: that has no line elsewhere."""
    outcome = LIMITED["limited_ladder"]
    page = shown(outcome_html(outcome))
    cards = re.split(r"^### ", page, flags=re.MULTILINE)
    of_step = {
        step.knob: card for step in outcome.steps for card in cards if step.knob in card[:40]
    }
    lost = [step.knob for step in outcome.steps if not step.kept]
    assert "limited by: CPU\n" in of_step[lost[0]]
    assert "limited by: CPU → a backend\n" in of_step["workers"]
    assert all("\nmemory: 58.7 MiB\n" in card for card in of_step.values())
    assert "limited by" not in shown(outcome_html(ladder()))
