"""What pools, imports and files in memory take."""

from collections.abc import Sequence

from httpdyno.advice.curve.pool import pool_line
from httpdyno.advice.formula.declaration import (
    BOOK,
    HANDOUT,
    AsPrinted,
    Fitted,
    Formula,
    Input,
    Requirement,
    Step,
)
from httpdyno.advice.formula.quantity import write
from httpdyno.errors import UsageError

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


def _line(pairs: Sequence[tuple[float, float]]) -> Fitted:
    counts, sizes = [n for n, _ in pairs], [size for _, size in pairs]
    if len(set(counts)) < 2:  # noqa: PLR2004 - a line takes two points
        raise UsageError(
            "`--seen` needs sizes at two numbers of workers or more",
            hint="Such as `--seen 4=52MB,16=98MB`.",
        )
    if not all(sizes):
        raise UsageError("`--seen` has a figure of 0", hint="Leave out what did not run.")
    line = pool_line(counts, sizes)
    once = _between(line.once_bytes, line.once_low_bytes, line.once_high_bytes)
    each = _between(line.each_bytes, line.each_low_bytes, line.each_high_bytes)
    caveats: tuple[str, ...] = ()
    if len(pairs) == 2:  # noqa: PLR2004
        caveats += ("two pairs give a line and no interval",)
    if line.once_bytes < 0:
        caveats += ("less than nothing is there once: the workers of some were older than others",)
    return Fitted(
        values={"once": line.once_bytes, "each": line.each_bytes},
        working=(
            f"once + each × workers, least squares of relative errors over {len(pairs)} pairs",
            f"once = {once}",
            f"each = {each}",
            *(
                f"{n:,.0f} workers: measured {write(size, 'size')}, the line gives "
                f"{write(line.once_bytes + line.each_bytes * n, 'size')}"
                for n, size in pairs
            ),
        ),
        caveats=caveats,
        figures={
            "once_low": line.once_low_bytes,
            "once_high": line.once_high_bytes,
            "each_low": line.each_low_bytes,
            "each_high": line.each_high_bytes,
        },
    )


def _between(value: float, low: float | None, high: float | None) -> str:
    text = write(value, "size")
    if low is None or high is None:
        return text
    ends = f"{write(max(0.0, low), 'size')} … {write(max(0.0, high), 'size')}"
    return f"{text} ({ends}; 95 % confidence)"


_POOL_LINE = Formula(
    name="pool-line",
    title="A pool's size by its workers",
    question="What does a pool take once, and what does each worker add?",
    inputs=(
        Input(
            name="seen",
            kind="size by count",
            meaning="PSS of whole pools (Pss in smaps_rollup, all processes added up) with so many "
            "workers; may be repeated",
            example="2=3.55MB,8=7.01MB,32=21.0MB,64=39.7MB",
        ),
        Input(
            name="workers",
            kind="count",
            meaning="A number of workers, for what they come to",
            example="",
            default="100",
        ),
    ),
    expression="size = once + each × workers",
    fit=_line,
    fitted=(
        Step(
            name="once",
            expression="the fit's value at 0 workers",
            kind="size",
            meaning="The parent, and what its workers share",
        ),
        Step(
            name="each",
            expression="the fit's slope",
            kind="size",
            meaning="What a worker has of its own",
        ),
    ),
    steps=(
        Step(
            name="size",
            expression="once + each * workers",
            kind="size",
            meaning="The pool with that number of workers",
        ),
    ),
    answer="{once} once and {each} for each worker: {size} with {workers}",
    printed=(
        AsPrinted(
            source=f"{BOOK}, page 385",
            text="n = (ram − shared) / (child − shared)",
            printed="82 and 246 for 500, 10 and 4 or 8 MB",
            verdict="loose",
            remark="The same line read backwards, with once for shared and each for what is left "
            "of one child; of whole pools the parent's own pages are in it, and it is seen whether "
            "they lie on a line at all",
        ),
    ),
    caveats=(
        "pools must be of the same age: a worker grows with the requests that it has served "
        "(`httpdyno formula unsharing`)",
        "what other pools that run meanwhile map too, such as the program's own file, is in each "
        "by its share only",
        "add PSS, not RSS: RSS has what is shared once for each worker",
    ),
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

FORMULAS = (_POOL_MEMORY, _POOL_LINE, _SLURPED_FILE, _IMPORT_SYMBOLS)
