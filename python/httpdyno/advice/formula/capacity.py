"""Rates, days, gains and small costs."""

from httpdyno.advice.formula.declaration import (
    ASP_ARTICLE,
    BOOK,
    CACHE_MEMO,
    HANDOUT,
    AsPrinted,
    Formula,
    Input,
    Requirement,
    Step,
)

_PEAK = Input(
    name="peak",
    kind="factor",
    meaning="How many times the day's mean the busiest time has; of your access log",
    example="3x",
    default="1x",
    minimum=1.0,
    is_above=False,
)
_DAY = Input(
    name="day",
    kind="duration",
    meaning="The part of a day in which people come",
    example="",
    default="24h",
    maximum=86_400.0,
)

_PER_DAY = Formula(
    name="per-day",
    title="Pages a day",
    question="How many pages a day does a rate carry?",
    inputs=(
        Input(name="rate", kind="rate", meaning="What the server can do", example="6.5/s"),
        _PEAK,
        _DAY,
    ),
    expression="pages = rate × day / peak",
    steps=(
        Step(
            name="pages",
            expression="floor(rate * day / peak)",
            kind="count",
            meaning="Pages a day, with the busiest time at that rate",
        ),
    ),
    answer="{pages} pages a day, {peak} the mean at the busiest time",
    printed=(
        AsPrinted(
            source=ASP_ARTICLE,
            text="from hits a second to pages a day, not printed how",
            printed="250,000 a day at 6.5/s",
            verdict="unsupported",
            remark="Around the clock it is 561,600; its figure takes a peak factor of 2.25",
        ),
    ),
    caveats=(
        "a page of several requests takes several: count requests, or pages with their objects",
        "at the peak the server is then full: leave room",
    ),
)

_PEAK_RATE = Formula(
    name="peak-rate",
    title="The rate of a day",
    question="What rate must a server carry for so many pages a day?",
    inputs=(
        Input(name="pages", kind="count", meaning="Pages a day", example="8000000"),
        _PEAK,
        _DAY,
    ),
    expression="rate = pages × peak / day",
    steps=(
        Step(
            name="mean",
            expression="pages / day",
            kind="rate",
            meaning="On average",
        ),
        Step(
            name="rate",
            expression="pages * peak / day",
            kind="rate",
            meaning="At the busiest time",
        ),
    ),
    answer="{rate} at the busiest time, {mean} on average",
    printed=(
        AsPrinted(
            source="the founding documents, in passing",
            text="8 million hits a day",
            printed="without a rate",
            verdict="unsupported",
            remark="92.6/s around the clock",
            expression="pages / day",
            kind="rate",
        ),
    ),
    caveats=("a mean hides the busiest minute: the access log has it",),
)

_GAIN = Formula(
    name="gain",
    title="A gain in percent and as a factor",
    question="How much more is one figure than another?",
    inputs=(
        Input(name="before", kind="number", meaning="The figure before", example="827"),
        Input(name="after", kind="number", meaning="The figure after", example="885"),
    ),
    expression="gain = after / before − 1; times = after / before",
    steps=(
        Step(name="times", expression="after / before", kind="factor", meaning="As a factor"),
        Step(
            name="gain",
            expression="after / before - 1",
            kind="share",
            meaning="In percent of the figure before",
        ),
    ),
    answer="{times} ({gain} more)",
    printed=(
        AsPrinted(
            source=ASP_ARTICLE,
            text="6.5 to 14.1 hits/s",
            printed="116 %",
            verdict="loose",
            remark="116.9: cut off, not rounded",
        ),
        AsPrinted(
            source=f"{BOOK}, page 385",
            text="50 to 82 and to 246 servers",
            printed="64 % and 392 %",
            verdict="agrees",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.4",
            text="50 to 81 and to 245 servers",
            printed="60 % and 390 %",
            verdict="loose",
            remark="62 and 390; like for like, from the 49 of the same formula, 65 and 400",
        ),
        AsPrinted(
            source=f"{BOOK}, page 398",
            text="827 to 885, 974 and 996 requests/s",
            printed="8, 15 and 18 %",
            verdict="wrong",
            remark="7.0, 17.8 and 20.4",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.1, MaxRequestsPerChild 10",
            text="133.01 and 8.34 requests/s",
            printed="18 times slower",
            verdict="wrong",
            remark="15.9 times, and two settings were changed at once",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.1, mod_cgi",
            text="1.12 and 32 requests/s",
            printed="30 times faster",
            verdict="loose",
            remark="28.6, of another configuration; the same one has 30.88: 27.6 times",
        ),
    ),
    caveats=(
        "one run each proves nothing: in the handout two runs of one configuration differ by 21 %; "
        "`httpdyno compare` gives the interval",
    ),
)

_SAVED_TIME = Formula(
    name="saved-time",
    title="Time saved by a gain in rate",
    question="How much less time does the server spend on a request, when its full rate has risen?",
    inputs=(
        Input(name="before", kind="rate", meaning="The full rate before", example="827/s"),
        Input(name="after", kind="rate", meaning="The full rate after", example="996/s"),
    ),
    expression="saved = 1 / before − 1 / after",
    steps=(
        Step(
            name="saved",
            expression="1 / before - 1 / after",
            kind="duration",
            meaning="Of the whole machine's time, for each request",
        ),
    ),
    answer="{saved} a request",
    printed=(
        AsPrinted(
            source=f"{BOOK}, page 399",
            text="avtime, 34 to 27 ms with 30 clients",
            printed="7 ms saved",
            verdict="unsupported",
            remark="Nearly all of that is queueing at 30 clients: 827 to 996/s are 0.205 ms",
        ),
    ),
    caveats=(
        "of all processors together; of one of n it is n times as much",
        "gains of this kind do not add up: each is what is left to save after the others",
    ),
)

_STAT_CALLS = Formula(
    name="stat-calls",
    title="What a few system calls cost",
    question="What do redundant stat() calls cost a request?",
    inputs=(
        Input(name="call", kind="duration", meaning="A call on an idle CPU", example="4.2us"),
        Input(name="calls", kind="count", meaning="Calls in a request", example="5"),
        Input(
            name="busy",
            kind="count",
            meaning="Processes that share the CPU",
            example="50",
            default="1",
        ),
    ),
    expression="cpu = calls × call; elapsed = cpu × busy",
    steps=(
        Step(
            name="cpu",
            expression="calls * call",
            kind="duration",
            meaning="CPU time of a request: what it costs, however busy the machine is",
        ),
        Step(
            name="elapsed",
            expression="calls * call * busy",
            kind="duration",
            meaning="Time on the clock, waiting for the CPU included",
        ),
    ),
    answer="{cpu} of CPU a request ({elapsed} on the clock with {busy} processes to a CPU)",
    printed=(
        AsPrinted(
            source=f"{BOOK}, page 393",
            text="lost = call × busy × calls × processes",
            printed="0.2 ms, 1 ms, and a few seconds with 50 processes",
            verdict="wrong",
            remark="50 × 1.05 ms is 0.05 s; and the wait for the CPU is no cost of stat(): every "
            "instruction of the request waits alike",
            expression="calls * call * busy * busy",
            kind="duration",
        ),
    ),
    caveats=(
        "the whole directory walk costs more than its calls: the book's own rates say 0.2 ms a "
        "request (`saved-time`)",
    ),
)

_RUN_LENGTH = Formula(
    name="run-length",
    title="Length of a run",
    question="How long does a run of so many requests take?",
    inputs=(
        Input(name="requests", kind="count", meaning="Requests or connections", example="27000"),
        Input(name="rate", kind="rate", meaning="A second", example="150/s"),
    ),
    expression="length = requests / rate",
    steps=(
        Step(
            name="length",
            expression="requests / rate",
            kind="duration",
            meaning="Of the run, not what a client waits",
        ),
    ),
    answer="{length}",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.2, httperf",
            text="duration = connections / rate",
            printed="180 s for 27,000 at 150/s",
            verdict="agrees",
            expression="requests / rate",
            kind="duration",
        ),
    ),
    caveats=("a straggler at the end keeps a run open, and halves the rate that a tool prints",),
)

_CACHE_TREE = Formula(
    name="cache-tree",
    title="Folders of Apache's disk cache",
    question="Do CacheDirLevels and CacheDirLength go together?",
    inputs=(
        Input(name="levels", kind="count", meaning="CacheDirLevels", example="4"),
        Input(name="length", kind="count", meaning="CacheDirLength", example="5"),
    ),
    expression="levels × length ≤ 20",
    requires=(
        Requirement(
            expression="21 - levels * length",
            complaint="Apache refuses {levels} levels of {length} characters, more than 20 in all",
            blames="levels",
        ),
    ),
    steps=(
        Step(
            name="characters",
            expression="levels * length",
            kind="count",
            meaning="Characters of the hash that go into names of folders",
        ),
        Step(
            name="left",
            expression="20 - characters",
            kind="count",
            meaning="That could still",
        ),
    ),
    answer="{characters} of at most 20, {left} left",
    printed=(
        AsPrinted(
            source=CACHE_MEMO,
            text="levels × length ≤ 20",
            printed="4 levels of 5",
            verdict="agrees",
            remark="It lies on the limit; Apache 2.4 accepts 20 and refuses 21",
        ),
    ),
    caveats=("each level is a folder to open on the way to an answer",),
)

FORMULAS = (
    *(_PER_DAY, _PEAK_RATE, _GAIN, _SAVED_TIME),
    *(_STAT_CALLS, _RUN_LENGTH, _CACHE_TREE),
)
