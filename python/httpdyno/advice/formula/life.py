"""How many workers, and how long each should live: one answer, since each costs the other."""

from collections.abc import Mapping

from httpdyno.advice.curve.finding import LifeRow, PrivateCurve
from httpdyno.advice.curve.joint import (
    MOST_LOST_RATIO,
    Ageing,
    BestLife,
    best_life,
    joint_life,
    life_row,
)
from httpdyno.advice.curve.pool import LIVES, life_table
from httpdyno.advice.formula.declaration import (
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
from httpdyno.model import Respawn
from httpdyno.units import format_percent

_COST = "serve + spawn / {n}"
_UNSHARED = "level - (level - start) * exp(-{n} / n_scale) + leak * {n}"
_WORKERS = "floor((ram * (1 - free) - parent) / {unshared})"
_RATE = f"min(cores / ({_COST}), {_WORKERS.format(unshared=f'({_UNSHARED})')} / held)"
"""With a life of n."""


def _search(known: Mapping[str, float]) -> Fitted:
    pool = Ageing(
        left_bytes=known["ram"] * (1 - known["free"]) - known["parent"],
        curve=PrivateCurve(
            start_bytes=known["start"],
            rise_bytes=known["level"] - known["start"],
            n_scale=known["n_scale"],
            leak_bytes=known["leak"],
        ),
        cost=Respawn(serve_s=known["serve"], spawn_s=known["spawn"]),
        held_s=known["held"],
        cores=known["cores"],
    )
    limit = int(known["limit"])
    found = best_life(pool, loss_ratio=known["loss"], limit=limit)
    if found is None:
        raise UsageError(
            f"`--ram` makes no sense: a child of {_size(pool.row(1))} after one request does not "
            f"fit into the {write(pool.left_bytes, 'size')} that are left beside the parent",
            hint="Give it more memory, or less to keep free.",
        )
    joint = joint_life(
        life_table(room_bytes=pool.left_bytes, once_bytes=0.0, curve=pool.curve, cost=pool.cost)
    )
    return Fitted(
        values={
            "n": _requests(found.best),
            "first": _requests(found.first),
            "first_workers": found.first.n_workers or 0,
            "last": _requests(found.last),
            "last_workers": found.last.n_workers or 0,
        },
        working=(
            "the longer a life, the higher the rate that births leave, and the fewer workers fit; "
            "the lower of both bounds is highest where they cross",
            *(_at(pool, n, found) for n in _shown(found, limit)),
            _without_a_time(joint),
        ),
        caveats=_beyond(pool, found, limit),
        figures={
            "inspect_n": None if joint is None else joint.n_requests,
            "inspect_workers": None if joint is None else joint.n_workers,
        },
    )


def _shown(found: BestLife, limit: int) -> list[int]:
    lives = {each for each in LIVES if each <= limit}
    return sorted(lives | {_requests(each) for each in (found.first, found.best, found.last)})


def _at(pool: Ageing, n: int, found: BestLife) -> str:
    row = pool.row(n)
    births, workers = pool.by_births_per_s(n), pool.by_workers_per_s(n)
    line = (
        f"n = {n:,}: {row.n_workers or 0:,} children fit, {_size(row)} each at the end; births "
        f"leave {write(births, 'rate')}, so many workers allow {write(workers, 'rate')}"
    )
    return f"{line}: the best" if row == found.best else line


def _without_a_time(joint: LifeRow | None) -> str:
    words = (
        "without the time that a request holds its worker, as in `httpdyno inspect`: of lives "
        f"whose births take {format_percent(MOST_LOST_RATIO)} of the rate at most "
    )
    if joint is None:
        return f"{words}there is none with which a worker fits"
    n = "for good" if joint.n_requests is None else f"{joint.n_requests:,} requests"
    return f"{words}those with the most workers, {joint.n_workers or 0:,} that live {n}"


def _beyond(pool: Ageing, found: BestLife, limit: int) -> tuple[str, ...]:
    """Say what lies beyond the longest life that was looked at, where that is as good as any."""
    if _requests(found.last) < limit:
        return ()
    for_good = life_row(None, pool.curve.level_bytes, pool.left_bytes, pool.cost)
    # Sharing may still fall beyond the longest life.
    if not pool.curve.leak_bytes and for_good.n_workers == found.last.n_workers:
        return (
            "lives without an end (MaxConnectionsPerChild 0) are as good, as long as nothing leaks",
        )
    return ("the longest life that was looked at is as good: see further with `--limit`",)


def _requests(row: LifeRow) -> int:
    return row.n_requests or 0


def _size(row: LifeRow) -> str:
    return write(row.each_bytes or 0.0, "size")


_LIFE = Formula(
    name="life",
    title="Workers and their lives together",
    question="How many workers, and how many requests for each, give the highest rate that memory "
    "has room for?",
    inputs=(
        Input(
            name="ram",
            kind="size",
            meaning="Memory that the server's processes may take together",
            example="500MB",
        ),
        Input(
            name="free",
            kind="share",
            meaning="The share of it to keep free: the pool must never swap",
            example="",
            default="10%",
            is_above=False,
        ),
        Input(
            name="parent",
            kind="size",
            meaning="The parent's own memory, shared pages included (its PSS before children fork)",
            example="25MB",
            is_above=False,
        ),
        Input(
            name="level",
            kind="size",
            meaning="Private memory of a child when all is unshared that ever is, as `unsharing` "
            "finds it",
            example="20.3MB",
        ),
        Input(
            name="start",
            kind="size",
            meaning="Private memory of a child that has served nothing yet, as `unsharing` finds "
            "it",
            example="350kB",
            otherwise="level",
        ),
        Input(
            name="n_scale",
            kind="number",
            meaning="Requests after which 63 % of what lies between both is unshared, as "
            "`unsharing` finds it",
            example="47.6",
            default="1",
        ),
        Input(
            name="leak",
            kind="size",
            meaning="What each request adds for good, as `unsharing` finds it",
            example="20kB",
            default="0B",
            is_above=False,
        ),
        Input(
            name="serve",
            kind="duration",
            meaning="The server's time for a request, as `respawn` finds it",
            example="35.3ms",
        ),
        Input(
            name="spawn",
            kind="duration",
            meaning="The server's time for a child's end and the next one's start, as `respawn` "
            "finds it",
            example="1.535s",
        ),
        Input(
            name="cores",
            kind="number",
            meaning="Cores, where both are CPU time of one; 1 where they are the whole server's, "
            "as those of `respawn` are",
            example="",
            default="1",
        ),
        Input(
            name="held",
            kind="duration",
            meaning="How long a request holds its worker at that load, slow clients included",
            example="1s",
        ),
        Input(
            name="per_connection",
            kind="number",
            meaning="K: requests of a connection, the mean, where connections are kept; Apache "
            "counts the first alone",
            example="",
            default="1",
            is_above=False,
            minimum=1.0,
        ),
        Input(
            name="loss",
            kind="share",
            meaning="The share of the highest rate that a life may lose and still be as good",
            example="",
            default="1%",
        ),
        Input(
            name="limit",
            kind="count",
            meaning="Requests of the longest life that is looked at",
            example="",
            default="1000000",
        ),
    ),
    expression="rate = min(cores / (serve + spawn/n), workers / held); "
    "workers = floor((ram × (1 − free) − parent) / unshared); "
    "unshared = level − (level − start) × e^(−n/n_scale) + leak × n; n where the rate is highest",
    requires=(
        Requirement(
            expression="ram * (1 - free) - parent",
            complaint="a parent of {parent} leaves nothing of {ram} with {free} kept free",
            blames="parent",
        ),
        Requirement(
            # Both may be the same, which a difference above zero would not let them.
            expression="floor(level / start)",
            complaint="a child that begins with {start} does not grow to {level}",
            blames="start",
        ),
        Requirement(
            expression="1 - loss",
            complaint="a loss of {loss} leaves nothing",
            blames="loss",
        ),
    ),
    search=_search,
    fitted=(
        Step(
            name="n",
            expression="the life with the highest rate; of equals the longest",
            kind="count",
            meaning="Requests of a child's life",
        ),
        Step(
            name="first",
            expression="the shortest life that loses no more than `loss` of that rate",
            kind="count",
            meaning="Requests of the shortest life that is as good",
        ),
        Step(
            name="first_workers",
            expression="as `workers`, with `first` for `n`",
            kind="count",
            meaning="Children that fit with it",
        ),
        Step(
            name="last",
            expression="the longest life that loses no more than `loss` of that rate",
            kind="count",
            meaning="Requests of the longest life that is as good",
        ),
        Step(
            name="last_workers",
            expression="as `workers`, with `last` for `n`",
            kind="count",
            meaning="Children that fit with it",
        ),
    ),
    steps=(
        Step(
            name="cost",
            expression=_COST.format(n="n"),
            kind="duration",
            meaning="The server's time for a request, with its share of a child's end and start",
        ),
        Step(
            name="births",
            expression="1 - serve / cost",
            kind="share",
            meaning="The share of its time that ends and starts of children take",
        ),
        Step(
            name="unshared",
            expression=_UNSHARED.format(n="n"),
            kind="size",
            meaning="Private memory of a child at the end of its life",
        ),
        Step(
            name="workers",
            expression=_WORKERS.format(unshared="unshared"),
            kind="count",
            meaning="MaxRequestWorkers: children that fit beside the parent, all at the end of "
            "their lives",
        ),
        Step(
            name="needs",
            expression="parent + workers * unshared",
            kind="size",
            meaning="What they need together with the parent",
        ),
        Step(
            name="by_births",
            expression="cores / cost",
            kind="rate",
            meaning="The rate that births leave",
        ),
        Step(
            name="by_workers",
            expression="workers / held",
            kind="rate",
            meaning="The rate that so many workers allow (Little's law)",
        ),
        Step(
            name="rate",
            expression="min(by_births, by_workers)",
            kind="rate",
            meaning="The lower of both",
        ),
        Step(
            name="busy",
            expression="rate * held",
            kind="number",
            meaning="Workers busy at that rate",
        ),
        Step(
            name="connections",
            expression="max(1, floor(n / per_connection))",
            kind="count",
            meaning="MaxConnectionsPerChild: the life in connections",
        ),
    ),
    answer="MaxRequestWorkers {workers} and MaxConnectionsPerChild {connections}: {rate}, the most "
    "of all lives up to {limit} requests; no more than {loss} below it are those from {first} "
    "({first_workers} workers) to {last} requests ({last_workers})",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.4",
            text="300 requests for each child are worth it already",
            printed="without figures",
            verdict="unsupported",
            remark="Sharing is said to decay at random; neither what births cost nor what memory "
            "holds is asked",
            expression=_RATE.format(n=300),
            kind="rate",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.7",
            text="as many requests for each child as possible: 10,000?",
            printed="without figures",
            verdict="unsupported",
            remark="As many as possible are the fewest workers; MaxClients is found without it, of "
            "constants",
            expression=_RATE.format(n=10_000),
            kind="rate",
        ),
    ),
    caveats=(
        "a child ages in requests and Apache counts connections: of those that are kept, K is a "
        "mean, and a child that meets longer ones grows larger; count the wait for the next "
        "request into what holds a worker (`httpdyno formula keep-alive`)",
        "all children are taken for as large as at the end of their lives, which is the safe side; "
        "what the kernel keeps for each is in none of these sizes (`httpdyno inspect` counts it)",
        "never let it swap: of lives that are as good take a shorter one where growth is not "
        "proven to end, and always both settings of one life",
        "a child that ends leaves its place empty until the next has begun, and prefork looks only "
        "once a second: short lives at a high rate lose more than their births cost",
        "the rate is no forecast of what visitors ask for; how many workers that takes, `workers` "
        "says",
    ),
)

FORMULAS = (_LIFE,)
