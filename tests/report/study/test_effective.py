from msgspec import structs
from tests.report import sample

from httpdyno.model import ArmSummary, Configuration, Effective, SweepPoint
from httpdyno.report.study.method import effective_table, limit_counts_text


def test_what_differs_comes_first_then_what_was_asked_then_the_server_s_own() -> None:
    table = effective_table(sample.tie_break())
    assert table is not None
    assert table.head == ["setting", "start", "final"]
    names = [row[0] for row in table.rows]
    different = [row[0] for row in table.rows if row[1] != row[2]]
    assert names[: len(different)] == different == ["state_dir"]
    assert names[-1] == "Timeout"
    assert table.note == "7 settings, 1 of them different; source: the running server"


def test_a_setting_that_one_server_does_not_have_is_a_dash() -> None:
    whole = sample.tie_break()
    assert whole.final is not None
    silent = structs.replace(whole.final.b, effective=Effective(values={"state_dir": "memory"}))
    table = effective_table(structs.replace(whole, final=structs.replace(whole.final, b=silent)))
    assert table is not None
    assert ["Timeout", "60", "–"] in table.rows


def test_an_unfinished_ladder_shows_start_and_what_is_kept_so_far() -> None:
    table = effective_table(structs.replace(sample.tie_break(), final=None))
    assert table is not None
    assert table.head == ["setting", "start", "kept so far"]


def test_servers_that_said_nothing_make_no_table() -> None:
    assert effective_table(sample.ladder()) is None
    assert effective_table(sample.young_sweep()) is None


def test_the_limit_is_counted_over_the_windows_of_all_comparisons() -> None:
    assert limit_counts_text(sample.tie_break()) == "server in 92 of 96 windows, client cpu in 4"
    assert limit_counts_text(sample.ladder()) == ""


def test_a_sweep_s_levels_count_like_arms() -> None:
    whole = sample.sweep()
    assert whole.sweep is not None
    arm = ArmSummary(configuration=Configuration(), limited_by={"rate": 1})
    sweep = structs.replace(whole.sweep, points=(SweepPoint(level=1, arm=arm, ratio_to_best=None),))
    assert limit_counts_text(structs.replace(whole, sweep=sweep)) == "rate in 1 of 1 window"


def test_knobs_that_nobody_told_of_are_named() -> None:
    whole = sample.tie_break()
    assert whole.final is not None
    silent = structs.replace(
        whole.final.b, effective=Effective(values={"workers": "5"}, unverified=("asp_debug",))
    )
    table = effective_table(structs.replace(whole, final=structs.replace(whole.final, b=silent)))
    assert table is not None
    assert table.note.endswith("; not reported, so not checked: asp_debug")
