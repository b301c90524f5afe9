"""What fewer bytes cost in CPU time, and from which line on they cost more than they save."""

from httpdyno.advice.formula.declaration import (
    BOOK,
    HANDOUT,
    AsPrinted,
    Formula,
    Input,
    Requirement,
    Step,
)

_CROSSOVER = Formula(
    name="crossover",
    title="Compression and the line",
    question="On which line does compression cost more than it saves?",
    inputs=(
        Input(
            name="page",
            kind="size",
            meaning="Bytes of an answer as it is, its head included",
            example="50kB",
        ),
        Input(
            name="coded",
            kind="size",
            meaning="Bytes of the same answer, compressed",
            example="23kB",
        ),
        Input(
            name="cpu",
            kind="duration",
            meaning="The server's CPU time for an answer as it is",
            example="251us",
        ),
        Input(
            name="cost",
            kind="duration",
            meaning="What compressing adds to that CPU time",
            example="627us",
        ),
        Input(
            name="cores",
            kind="number",
            meaning="Cores that the server may use up",
            example="",
            default="1",
        ),
    ),
    expression="one client: (page − coded) / cost; all together: page × cores / (cpu + cost)",
    requires=(
        Requirement(
            expression="page - coded",
            complaint="{coded} compressed are no fewer than {page} as it is",
            blames="coded",
        ),
    ),
    steps=(
        Step(
            name="saved",
            expression="page - coded",
            kind="size",
            meaning="What a line need not carry of each answer",
        ),
        Step(
            name="one",
            expression="saved / cost",
            kind="bandwidth",
            meaning="The line of one client on which both take as long: on a faster one an answer "
            "is there later, at a server that has a core free",
        ),
        Step(
            name="most",
            expression="cores / (cpu + cost)",
            kind="rate",
            meaning="Compressed answers for which there is CPU time",
        ),
        Step(
            name="all",
            expression="page * most",
            kind="bandwidth",
            meaning="The line of all clients together that carries as many as they are: on a "
            "faster one the CPU gives out before it would, and the full rate falls",
        ),
        Step(
            name="spared",
            expression="saved * most",
            kind="bandwidth",
            meaning="What that rate spares the line",
        ),
        Step(
            name="times",
            expression="page / coded",
            kind="factor",
            meaning="What the full rate rises by at most, on a line that is the limit with both",
        ),
    ),
    answer="it costs more than it saves above {one} for a client, and above {all} for all "
    "together; where the line is the limit it is worth {times} the rate",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.27, and {BOOK}, page 402",
            text="text shrinks up to ten times, and no code has to change",
            printed="without what it costs",
            verdict="unsupported",
            remark="Bytes are half of it: the CPU time, which the documents leave out, sets the "
            "line on which they are worth it",
            expression="page / coded",
            kind="factor",
        ),
    ),
    caveats=(
        "both CPU times are of the whole server and of one kind of page: measure them with the "
        "same load (`compression`, `compression-slow-line`), at the level that is to be used",
        "the line of one client is the least: where a server sends the beginning of an answer "
        "while it compresses the rest, the two overlap; and a line with a delay has round trips "
        "to save",
        "all clients together are taken to wait for nothing but that line and those cores: of "
        "clients with lines of their own it is the sum of those",
        "an answer that is kept compressed costs its CPU time once",
    ),
)

FORMULAS = (_CROSSOVER,)
