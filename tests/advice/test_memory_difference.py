"""What moved in memory is told where the starts show it, and nowhere else."""

from tests.rows import each_row

from httpdyno.advice.bottleneck import memory_differences
from httpdyno.model import ArmSummary, Comparison, Configuration, RatioInterval
from httpdyno.report.shared.bottleneck import difference_text

MIB = 2.0**20


def arm(private_mib, whole_mib=40.0, n=8.0):
    return ArmSummary(
        configuration=Configuration(),
        figures={
            "pss_bytes": whole_mib * MIB,
            **({} if private_mib is None else {"uss_bytes_per_process": private_mib * MIB}),
        },
        n_processes=n,
    )


def ratio(low, high):
    return RatioInterval(ratio=(low + high) / 2, low=low, high=high, confidence=0.95)


def compared(a, b, *, metric="throughput_per_s", is_doubted=False, **ratios):
    return Comparison(
        index=0,
        a=a,
        b=b,
        verdict="inconclusive",
        reasons=(),
        metric=metric,
        n_starts=6,
        ratios=ratios,
        is_doubted=is_doubted,
    )


def told(*arms, **known):
    found = memory_differences(compared(*arms, **known), confidence=0.95)
    return [difference_text(each) for each in found]


PRIVATE = "private memory of a process 3.10 MiB → 2.20 MiB"
SHARED = "memory that processes share, counted once 15.2 MiB → 12.4 MiB (no claim)"


@each_row(
    ("known", "lines"),
    [
        ({"uss_per_process": ratio(0.68, 0.75)}, [PRIVATE, SHARED]),
        # The pool's moved, by less of what is shared: private memory may be as it was.
        ({"uss_per_process": ratio(0.68, 1.01), "memory": ratio(0.7, 0.8)}, [SHARED]),
        ({"uss_per_process": ratio(0.68, 1.01), "memory": ratio(0.7, 1.2)}, []),
        # Nothing bounds it.
        ({}, []),
        ({"uss_per_process": ratio(0.68, 0.75), "is_doubted": True}, []),
        # The claim has both figures itself.
        ({"uss_per_process": ratio(0.68, 0.75), "metric": "uss_bytes_per_process"}, [SHARED]),
    ],
)
def test_memory_is_told_where_it_moved_by_more_than_starts_differ(known, lines):
    assert told(arm(3.1), arm(2.2, 30.0), **known) == lines


def test_a_page_more_in_each_process_has_figures_that_differ():
    lines = told(arm(2.0), arm(2.0 + 4 / 1024), uss_per_process=ratio(1.001, 1.003))
    assert lines[0] == "private memory of a process 2,048 KiB → 2,052 KiB"


def test_the_more_comparisons_it_is_told_of_the_surer_each_is():
    """Its interval lies clear of 1 by less than half its width."""
    step = compared(arm(3.1), arm(2.9), uss_per_process=ratio(0.90, 0.98))
    found = memory_differences(step, confidence=0.95)
    assert found[0].figure == "private_bytes"
    assert memory_differences(step, confidence=0.95, n_comparisons=10) == ()
    # What was asked for itself may have as much confidence already.
    sure = RatioInterval(ratio=0.94, low=0.90, high=0.98, confidence=0.9999)
    sure_step = compared(arm(3.1), arm(2.9), uss_per_process=sure)
    assert memory_differences(sure_step, confidence=0.95, n_comparisons=10) != ()


@each_row("other", [arm(None), arm(2.2, n=0.0), arm(6.0)])
def test_what_is_shared_is_not_told_where_it_cannot_be_known(other):
    assert not any("share" in line for line in told(arm(3.1), other, memory=ratio(0.7, 0.8)))
