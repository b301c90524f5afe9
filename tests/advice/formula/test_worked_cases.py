"""The founding documents' worked cases, worked out again.

Each row has what a document printed and what is right; where the two differ it says so. Sources:
"handout" is the mod_perl tutorial handout of 4 March 2000, "book" is Practical mod_perl (2004),
chapter 11, "series" is part VII of the web series of April 2001, "article" the one on tuning
Apache::ASP (1999), "memo" the one on mod_cache (March 2006).
"""

from dataclasses import dataclass, field

import pytest
from tests.rows import each_row

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.advice.formula.expression import DimensionError, Quantity, evaluate

NEVER = None
"""Nothing was printed of it."""


@dataclass
class Case:
    source: str
    formula: str
    figure: str
    right: float
    """In base units, of what our formula gives."""
    printed: float | None
    agrees: bool = True
    typed: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        return f"{self.source}, {self.formula}.{self.figure}, {' '.join(self.typed.values())}"


def case(*row, agrees=True, **typed):
    source, formula, figure, right, printed = row
    return Case(source, formula, figure, right, printed, agrees, typed)


def memory(shared, **more):
    return {"ram": "500MB", "child": "10MB", "shared": shared, **more}


AS_CHILD, AS_SHARED, PLAIN = "parent_as_child", "parent_as_shared", "plain"
CASES = [
    case("handout 2.22.4", "max-clients", PLAIN, 40, 40, ram="400MB", child="10MB"),
    case("book p. 384", "max-clients", PLAIN, 40, 40, ram="400MB", child="10MB"),
    case("handout 2.22.4", "max-clients", PLAIN, 50, 50, ram="500MB", child="10MB"),
    case("handout 2.22.4", "max-clients", AS_CHILD, 81, 81, **memory("4MB")),
    case("handout 2.22.4", "max-clients", AS_CHILD, 245, 245, **memory("8MB")),
    # Its own form has 49 where nothing is shared; it compares with the 50 of another.
    case("handout 2.22.4", "max-clients", AS_CHILD, 49, 50, agrees=False, **memory("0B")),
    case("book p. 385", "max-clients", AS_SHARED, 82, 82, **memory("4MB")),
    case("book p. 385", "max-clients", AS_SHARED, 246, 246, **memory("8MB")),
    case("book p. 385", "max-clients", AS_SHARED, 50, 50, **memory("0B")),
    # Exact: a parent of full size has room for 81, one of shared pages alone for 82.
    case("exact", "max-clients", "children", 81, NEVER, **memory("4MB", parent="10MB")),
    case("exact", "max-clients", "children", 82, NEVER, **memory("4MB", parent="4MB")),
    case("exact", "max-clients", "needs", 496e6, NEVER, **memory("4MB", parent="4MB")),
    case("exact", "max-clients", "children", 81, NEVER, ram="500MB", child="10MB", unshared="6MB"),
    case("handout 2.22", "pool-memory", "memory", 1e9, 1e9, children="50", child="20MB"),
    case("book p. 384", "pool-memory", "memory", 500e6, 500e6, children="50", child="10MB"),
    case("handout 2.14", "slurped-file", "memory", 100e6, 100e6, children="20", file="5MB"),
    case(
        *("handout 2.14", "slurped-file", "memory", 200e6, 200e6),
        children="20",
        file="5MB",
        copies="2",
    ),
    case(
        *("handout 2.26.4", "import-symbols", "memory", 3e6, 3e6),
        size="10kB",
        scripts="10",
        processes="30",
    ),
    case(
        *("handout 2.26.4", "import-symbols", "memory", 6e6, 6e6),
        size="20kB",
        scripts="10",
        processes="30",
    ),
    case(
        *("handout 2.26.4", "import-symbols", "memory", 6_144_000, NEVER),
        size="20480B",
        scripts="10",
        processes="30",
    ),
    case("handout 2.22.1", "queue-wait", "last", 16, 16, clients="400", rate="25/s"),
    case(
        *("handout 2.22.1, series", "queue-wait", "last", 3.3333, 3.5),
        agrees=False,
        clients="100",
        rate="30/s",
    ),
    # On mod_cgi it takes the length of the whole run for each client's wait.
    *(
        case(
            *("handout 2.22.1", "queue-wait", "closed", right, printed),
            agrees=False,
            clients=clients,
            rate=rate,
        )
        for clients, rate, right, printed in (
            ("10", "1.12/s", 8.9286, 100),
            ("50", "1.14/s", 43.8596, 1000),
            ("100", "1.13/s", 88.4956, 1000),
        )
    ),
    case(
        *("handout 2.22.3", "closed-loop", "busy", 9.0525, NEVER),
        clients="10",
        rate="10.65/s",
        latency="850ms",
    ),
    *(
        case(
            *("book p. 386", "closed-loop", "busy", right, 300),
            agrees=agrees,
            clients="300",
            rate=f"{rate}/s",
            latency=f"{avtime}ms",
        )
        for rate, avtime, right, agrees in (
            (755, 333, 251.415, False),
            (791, 342, 270.522, False),
            (741, 402, 297.882, True),
        )
    ),
    case("article", "per-day", "pages", 561_600, 250_000, agrees=False, rate="6.5/s"),
    case("article", "per-day", "pages", 1_218_240, NEVER, rate="14.1/s"),
    case("article", "per-day", "pages", 250_000, 250_000, rate="6.5/s", peak="2.2464x"),
    case("in passing", "peak-rate", "mean", 92.5926, NEVER, pages="8000000"),
    case("handout 2.22.2", "run-length", "length", 180, 180, requests="27000", rate="150/s"),
    case("memo", "cache-tree", "characters", 20, 20, levels="4", length="5"),
    case("handout 2.11", "keep-alive", "times", 31, NEVER, service="500ms", timeout="15s"),
    case("handout 3.4.5", "workers", "workers", 30, NEVER, rate="60/s", held="500ms", busy="100%"),
    case(
        *("handout 3.4.5", "ram-for-load", "ram", 500e6, NEVER),
        rate="60/s",
        held="500ms",
        child="10MB",
        other="100MB",
    ),
    case(
        *("handout 2.3", "simultaneous", "requests", 100, NEVER),
        ram="500MB",
        process="10MB",
        boxes="2",
    ),
    case("book p. 393", "stat-calls", "cpu", 21e-6, NEVER, call="4.2us", calls="5", busy="50"),
    # Printed as 1 ms, rounded.
    case(
        *("book p. 393", "stat-calls", "elapsed", 1.05e-3, NEVER),
        call="4.2us",
        calls="5",
        busy="50",
    ),
    case(
        *("book p. 399", "saved-time", "saved", 205.17e-6, 7e-3),
        agrees=False,
        before="827/s",
        after="996/s",
    ),
]

GAINS = [
    ("article", "6.5", "14.1", 116.92, 116, False),  # cut off
    ("book p. 385", "50", "82", 64.0, 64, True),
    ("book p. 385", "50", "246", 392.0, 392, True),
    ("handout 2.22.4", "50", "81", 62.0, 60, False),
    ("handout 2.22.4", "50", "245", 390.0, 390, True),
    ("handout 2.22.4, like for like", "49", "245", 400.0, 390, False),
    ("handout 2.22.4, like for like", "49", "81", 65.31, 60, False),
    ("book p. 398, noht", "827", "885", 7.01, 8, False),
    ("book p. 398, alias", "827", "974", 17.78, 15, False),
    ("book p. 398, both", "827", "996", 20.44, 18, False),
]
FACTORS = [
    ("handout 2.22.1, MaxRequestsPerChild 10", "8.34", "133.01", 15.95, 18, False),
    ("handout 2.22.1, MaxClients 10", "27.12", "133.01", 4.90, 5, True),  # "4-5"
    ("handout 2.22.1, mod_cgi", "1.12", "30.88", 27.57, 30, False),
    ("handout 2.22.1, mod_cgi, another configuration", "1.12", "32.05", 28.62, 30, False),
    ("book p. 393, one loop beside", "4.209645", "8.777301", 2.09, 2, True),
    ("book p. 393, four loops", "4.209645", "20.853558", 4.95, 5, True),
    ("memo, a static page", "0.961", "39.196", 40.79, NEVER, True),
    ("handout 2.26.2, method call", "0.85", "1.59", 1.87, NEVER, True),
]


def figures(formula, typed):
    return {each.name: each.value for each in work_out(formulas()[formula], typed).figures}


@each_row("row", CASES, ids=str)
def test_a_worked_case_comes_out_right(row):
    found = figures(row.formula, row.typed)[row.figure]
    assert found == pytest.approx(row.right, rel=1e-4)
    if row.printed is not NEVER:
        assert row.agrees == (found == pytest.approx(row.printed, rel=0.01))


@each_row("row", GAINS, ids=lambda row: row[0])
def test_a_gain_in_percent_comes_out_right(row):
    _, before, after, right, printed, agrees = row
    found = 100 * figures("gain", {"before": before, "after": after})["gain"]
    assert found == pytest.approx(right, abs=0.01)
    assert agrees == (round(found) == printed)


@each_row("row", FACTORS, ids=lambda row: row[0])
def test_a_factor_comes_out_right(row):
    _, before, after, right, printed, agrees = row
    found = figures("gain", {"before": before, "after": after})["times"]
    assert found == pytest.approx(right, abs=0.01)
    if printed is not NEVER:
        assert agrees == (round(found) == printed)


@pytest.mark.parametrize(("shared_mb", "as_printed", "meant"), [(4, 100, 81), (8, 500, 245)])
def test_the_misprint_of_max_clients_solves_to_something_else(shared_mb, as_printed, meant):
    # Handout 2.22.4: n = (T + S n)/(M − 1), where (T + S n)/M − 1 is meant; in megabytes.
    total, child = 500, 10
    assert total / (child - 1 - shared_mb) == as_printed
    assert int((total - child) / (child - shared_mb)) == meant
    assert meant == figures("max-clients", memory(f"{shared_mb}MB"))[AS_CHILD]


def test_the_misprint_of_max_clients_has_no_dimension():
    size, count = Quantity(value=1e7, dimension=(1, 0)), Quantity(value=50)
    known = {"ram": size, "child": size, "shared": size, "n": count}
    with pytest.raises(DimensionError):
        evaluate("(ram + shared * n) / (child - 1)", known)
    assert evaluate("(ram + shared * n) / child - 1", known).dimension == (0, 0)


BARE = {"link": "28.8kbit", "service": "500ms", "buffer": "0B", "linger": "0s"}


@each_row(
    ("page", "hold_s", "lost", "times"),
    [
        ("10kB", 2.7778, 5.5556, 6.5556),
        ("20kB", 5.5556, 11.111, 12.111),
        ("100kB", 27.778, 55.556, 56.556),
    ],
)
def test_a_slow_client_without_buffer_holds_what_the_handout_wanted_to_say(
    page, hold_s, lost, times
):
    # Handout 2.10 says 6 s, 12 requests and a twelfth for the page of 10 kB that it assumes.
    found = figures("slow-client", {"page": page, **BARE})
    assert found["hold"] == pytest.approx(hold_s, rel=1e-4)
    assert found["lost"] == pytest.approx(lost, rel=1e-4)
    assert found["times"] == pytest.approx(times, rel=1e-4)


@each_row(
    ("page", "buffer", "linger", "blocked_s", "lingering_s"),
    [
        ("3600B", "16KiB", "2s", 0, 1.0),  # the client has it all before the time is up
        ("10kB", "16KiB", "2s", 0, 2.0),  # seen: idle again within about two seconds
        ("16384B", "16KiB", "2s", 0, 2.0),
        ("19984B", "16KiB", "2s", 1.0, 2.0),  # 3,600 bytes wait in write
        ("19984B", "16KiB", "0s", 1.0, 0.0),  # kept alive
        ("19984B", "4MiB", "2s", 0, 2.0),
        ("7200B", "0B", "2s", 2.0, 0.0),  # nothing is left to drain
    ],
)
def test_a_slow_client_holds_in_write_and_in_lingering_close(
    page, buffer, linger, blocked_s, lingering_s
):
    typed = {"page": page, "link": "28.8kbit", "service": "500ms"}
    found = figures("slow-client", {**typed, "buffer": buffer, "linger": linger})
    assert found["blocked"] == pytest.approx(blocked_s)
    assert found["lingering"] == pytest.approx(lingering_s)
    assert found["hold"] == pytest.approx(blocked_s + lingering_s)


@each_row(
    ("formula", "typed", "printed", "text"),
    [
        ("max-clients", memory("4MB"), "81", "second form"),
        ("max-clients", memory("4MB"), "82", "page 385"),
        ("slow-client", {"page": "20kB", **BARE}, "5.556 s", "the hold"),
        # 50 × 1.05 ms: "a few seconds" are 0.05 s.
        ("stat-calls", {"call": "4.2us", "calls": "5", "busy": "50"}, "52.5 ms", "page 393"),
    ],
)
def test_what_a_document_has_is_worked_out_with_the_same_numbers(formula, typed, printed, text):
    book = work_out(formulas()[formula], typed).book
    [case] = [each for each in book if text in f"{each.printed.source}: {each.printed.text}"]
    assert case.text == printed


def test_what_a_document_has_may_divide_by_zero():
    typed = {"ram": "500MB", "child": "10MB", "shared": "10MB", "unshared": "2MB"}
    worked = work_out(formulas()["max-clients"], typed)
    assert [each for each in worked.book if each.text is None]
    assert worked.figures[0].value == 245
