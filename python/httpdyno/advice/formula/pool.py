"""How many processes fit, and how many are needed."""

from httpdyno.advice.formula.declaration import (
    BOOK,
    HANDOUT,
    AsPrinted,
    Formula,
    Input,
    Requirement,
    Step,
)

_RAM = Input(
    name="ram",
    kind="size",
    meaning="Memory that the server's processes may take together",
    example="500MB",
)
_RATE = Input(name="rate", kind="rate", meaning="Requests a second at the peak", example="60/s")
_HELD = Input(
    name="held",
    kind="duration",
    meaning="How long a request holds its worker at that load, slow clients included",
    example="500ms",
)

_MAX_CLIENTS = Formula(
    name="max-clients",
    title="MaxClients with shared memory",
    question="How many children fit into memory, when they share part of theirs?",
    inputs=(
        _RAM,
        Input(
            name="child",
            kind="size",
            meaning="The largest child whole (its RSS)",
            example="10MB",
        ),
        Input(
            name="shared",
            kind="size",
            meaning="The part of it that it shares with the others",
            example="4MB",
            default="0B",
            is_above=False,
        ),
        Input(
            name="unshared",
            kind="size",
            meaning="The largest unshared part of a child (Private_* in smaps_rollup)",
            example="",
            otherwise="child - shared",
        ),
        Input(
            name="parent",
            kind="size",
            meaning="The parent's own memory, shared pages included (its PSS before children fork)",
            example="",
            otherwise="child",
            is_above=False,
        ),
    ),
    expression="n = floor((ram − parent) / unshared)",
    requires=(
        Requirement(
            expression="unshared",
            complaint="a child of {child} that shares {shared} has nothing of its own",
            blames="shared",
        ),
        Requirement(
            expression="ram - child",
            complaint="a child of {child} does not fit into {ram}",
            blames="child",
        ),
        Requirement(
            expression="ram - parent",
            complaint="a parent of {parent} leaves nothing of {ram}",
            blames="parent",
        ),
    ),
    steps=(
        Step(
            name="children",
            expression="floor((ram - parent) / unshared)",
            kind="count",
            meaning="Children that fit beside the parent",
        ),
        Step(
            name="needs",
            expression="parent + children * unshared",
            kind="size",
            meaning="What they need together with the parent",
        ),
        Step(
            name="parent_as_child",
            expression="floor((ram - child) / unshared)",
            kind="count",
            meaning="With a parent as large as the largest child: the handout's form, the least",
        ),
        Step(
            name="parent_as_shared",
            expression="floor((ram - shared) / unshared)",
            kind="count",
            meaning="With a parent that has the shared pages alone: the book's form, the most",
        ),
        Step(
            name="plain",
            expression="floor(ram / child)",
            kind="count",
            meaning="By RSS alone, as if nothing were shared and there were no parent",
        ),
        Step(
            name="plain_needs",
            expression="parent + plain * unshared",
            kind="size",
            meaning="What as many as that need in truth",
        ),
    ),
    answer="MaxRequestWorkers {children}: they and the parent need {needs} of {ram} "
    "(by RSS alone it would be {plain}, which need {plain_needs})",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.4, and {BOOK}, page 384",
            text="n = ram / child",
            printed="40 for 400 and 10 MB, 50 for 500 and 10 MB",
            verdict="agrees",
            remark="It leaves no room for the parent, and counts shared pages once for each child",
            expression="floor(ram / child)",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.4, first form",
            text="n = (ram + shared × n) / (child − 1)",
            printed="81 and 245 for 500, 10 and 4 or 8 MB",
            verdict="wrong",
            remark="A misprint of (ram + shared × n) / child − 1: it takes one process from "
            "megabytes, and solves to 100 and 500",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.4, second form",
            text="n = (ram − child) / (child − shared)",
            printed="81 and 245 for 500, 10 and 4 or 8 MB",
            verdict="agrees",
            remark="It takes the parent for as large as the largest child, which is the safe side; "
            "its own count without sharing is 49, not the 50 that it compares with",
            expression="floor((ram - child) / (child - shared))",
        ),
        AsPrinted(
            source=f"{BOOK}, page 385",
            text="n = (ram − shared) / (child − shared)",
            printed="82 and 246 for 500, 10 and 4 or 8 MB",
            verdict="agrees",
            remark="It takes the parent for its shared pages alone, and is one more than the "
            "handout's, always: right only where the parent has nothing of its own",
            expression="floor((ram - shared) / (child - shared))",
        ),
    ),
    caveats=(
        "shared memory falls and a child grows with the requests that it serves (`httpdyno formula "
        "unsharing`): measure the largest child at the end of its life",
        "with children running, the parent's part is the PSS of all less the unshared part of each "
        "child; the PSS of all together is what they really take: check with it",
        "memory is one bound of several; how many workers are worth having, a sweep measures",
    ),
)

_SIMULTANEOUS = Formula(
    name="simultaneous",
    title="Requests at once, by memory",
    question="How many requests can some machines answer at once?",
    inputs=(
        _RAM,
        Input(name="process", kind="size", meaning="Memory of a process", example="10MB"),
        Input(name="boxes", kind="count", meaning="Machines", example="2", default="1"),
    ),
    expression="n = floor(ram / process) × boxes",
    steps=(
        Step(
            name="requests",
            expression="floor(ram / process) * boxes",
            kind="count",
            meaning="Requests at once",
        ),
    ),
    answer="{requests} requests at once on {boxes} machines",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.3",
            text="ram × boxes / process",
            printed="without a worked case",
            verdict="agrees",
            expression="ram * boxes / process",
        ),
    ),
    caveats=("each machine holds whole processes, and a parent too: see `max-clients`",),
)

_WORKERS = Formula(
    name="workers",
    title="Workers by Little's law",
    question="How many workers does a load keep busy, and how many does it take?",
    inputs=(
        _RATE,
        _HELD,
        Input(
            name="busy",
            kind="share",
            meaning="The share of the workers that are to be busy on average",
            example="80%",
            default="80%",
            maximum=1.0,
        ),
    ),
    expression="workers = rate × held / busy",
    steps=(
        Step(
            name="mean_busy",
            expression="rate * held",
            kind="number",
            meaning="Workers busy on average, however many there are (Little's law)",
        ),
        Step(
            name="workers",
            expression="ceil(rate * held / busy)",
            kind="count",
            meaning="Workers, so that no more than that share is busy",
        ),
    ),
    answer="{workers} workers: {rate} of {held} each keep {mean_busy} busy on average",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 3.4.5",
            text="children = peak rate × service time",
            printed="without a worked case",
            verdict="agrees",
            remark="The time must be that at the peak; and with no more workers than are busy on "
            "average the queue has no end",
            expression="rate * held",
        ),
    ),
    caveats=(
        "where the CPU is the limit, more workers make each request slower, not the server faster",
        "the share that may be busy depends on the wait that is allowed: load it and look",
    ),
)

_RAM_FOR_LOAD = Formula(
    name="ram-for-load",
    title="Memory for a load",
    question="How much memory does a machine need for a load?",
    inputs=(
        _RATE,
        _HELD,
        Input(name="child", kind="size", meaning="The largest child", example="10MB"),
        Input(
            name="other",
            kind="size",
            meaning="What all other processes take",
            example="",
            default="0B",
            is_above=False,
        ),
        Input(
            name="free",
            kind="share",
            meaning="The share of all memory to keep free for peaks",
            example="",
            default="20%",
            is_above=False,
        ),
    ),
    expression="ram = (ceil(rate × held) × child + other) / (1 − free)",
    requires=(
        Requirement(
            expression="1 - free",
            complaint="with {free} kept free there is no memory left",
            blames="free",
        ),
    ),
    steps=(
        Step(
            name="children",
            expression="ceil(rate * held)",
            kind="count",
            meaning="Children busy on average at the peak",
        ),
        Step(
            name="ram",
            expression="(children * child + other) / (1 - free)",
            kind="size",
            meaning="Memory",
        ),
    ),
    answer="{ram} for {children} children of {child}",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 3.4.5",
            text="ram = children × child + the rest, with 20 % free",
            printed="without a worked case",
            verdict="agrees",
            remark="It does not say of what the 20 % are; here they are of all memory",
        ),
    ),
    caveats=(
        "shared pages are counted once for each child here: `max-clients` counts them once",
        "the 20 % are the handout's word, not measured",
    ),
)

FORMULAS = (_MAX_CLIENTS, _WORKERS, _RAM_FOR_LOAD, _SIMULTANEOUS)
