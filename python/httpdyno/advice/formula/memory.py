"""What pools, imports and files in memory take."""

from httpdyno.advice.formula.declaration import (
    BOOK,
    HANDOUT,
    AsPrinted,
    Formula,
    Input,
    Requirement,
    Step,
)

_CHILDREN = Input(name="children", kind="count", meaning="Children of the pool", example="50")

_POOL_MEMORY = Formula(
    name="pool-memory",
    title="Memory of a pool",
    question="How much memory does a pool of children take?",
    inputs=(
        _CHILDREN,
        Input(name="child", kind="size", meaning="A child whole (its RSS)", example="20MB"),
        Input(
            name="shared",
            kind="size",
            meaning="The part of it that all share",
            example="",
            default="0B",
            is_above=False,
        ),
    ),
    expression="memory = children × (child − shared) + shared",
    requires=(
        Requirement(
            expression="child - shared",
            complaint="a child of {child} that shares {shared} has nothing of its own",
            blames="shared",
        ),
    ),
    steps=(
        Step(
            name="memory",
            expression="children * (child - shared) + shared",
            kind="size",
            meaning="Memory, with shared pages counted once",
        ),
        Step(
            name="rss_sum",
            expression="children * child",
            kind="size",
            meaning="The sum of their RSS, as `ps` and `top` show it",
        ),
    ),
    answer="{memory} (the sum of their RSS is {rss_sum})",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22",
            text="memory = children × child",
            printed="1 GB for 50 of 20 MB",
            verdict="agrees",
            expression="children * child",
            kind="size",
        ),
        AsPrinted(
            source=f"{BOOK}, pages 383-384",
            text="memory = children × child",
            printed="500 MB for 50 of 10 MB",
            verdict="agrees",
        ),
    ),
    caveats=("the parent's own pages come on top",),
)

_SLURPED_FILE = Formula(
    name="slurped-file",
    title="Files read whole",
    question="What does it take in memory when every child reads a file whole?",
    inputs=(
        Input(name="children", kind="count", meaning="Children that do it", example="20"),
        Input(name="file", kind="size", meaning="The file", example="5MB"),
        Input(
            name="copies",
            kind="count",
            meaning="Copies of it that a child holds; passed by value it is two",
            example="2",
            default="1",
        ),
    ),
    expression="memory = children × copies × file",
    steps=(
        Step(
            name="memory",
            expression="children * copies * file",
            kind="size",
            meaning="Memory when all do it at once, and afterwards",
        ),
    ),
    answer="{memory} in {children} children",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.14",
            text="children × copies × file",
            printed="100 MB for 20 children and 5 MB, 200 MB by value",
            verdict="agrees",
            expression="children * copies * file",
            kind="size",
        ),
    ),
    caveats=(
        "a process keeps the memory that it once took: the sum stands once each child has done it",
        "read and send it in pieces, or let the server send the file: then it takes a buffer each",
    ),
)

_IMPORT_SYMBOLS = Formula(
    name="import-symbols",
    title="Memory of imported symbols",
    question="What does it take when scripts import all names of a module?",
    inputs=(
        Input(name="size", kind="size", meaning="What the names take in a script", example="10kB"),
        Input(name="scripts", kind="count", meaning="Scripts that import them", example="10"),
        Input(name="processes", kind="count", meaning="Processes with the scripts", example="30"),
        Input(
            name="page",
            kind="size",
            meaning="The step in which a process grows: how exactly the size is known",
            example="",
            default="4096B",
        ),
    ),
    expression="memory = size × scripts × processes",
    steps=(
        Step(
            name="memory",
            expression="size * scripts * processes",
            kind="size",
            meaning="Memory where each process imports by itself",
        ),
        Step(
            name="preloaded",
            expression="size * scripts",
            kind="size",
            meaning="Where the parent imports before it forks, and the pages stay shared",
        ),
        Step(
            name="doubt",
            expression="page * scripts * processes",
            kind="size",
            meaning="How far off it may be, as the size is known in whole pages only",
        ),
    ),
    answer="at most {memory}; {preloaded} if the parent has preloaded the scripts",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.26.4",
            text="X × Y × Z",
            printed="3 MB for 10 kB, 10 scripts and 30 processes, 6 MB for 20 kB",
            verdict="agrees",
            remark="It takes every page for the process's own; the 20 kB were measured, as 5 pages "
            "of 4,096 bytes",
            expression="size * scripts * processes",
            kind="size",
        ),
    ),
    caveats=("an upper bound: what the parent had before it forked is shared until written to",),
)

FORMULAS = (_POOL_MEMORY, _SLURPED_FILE, _IMPORT_SYMBOLS)
