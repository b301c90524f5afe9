"""How long processes are held, and how long clients wait."""

from httpdyno.advice.formula.declaration import BOOK, HANDOUT, AsPrinted, Formula, Input, Step

_SERVICE = Input(
    name="service",
    kind="duration",
    meaning="What it takes to make the answer",
    example="500ms",
)
_THINK = Input(
    name="think",
    kind="duration",
    meaning="A client's pause between answer and next request",
    example="",
    default="0s",
    is_above=False,
)

_SLOW_CLIENT = Formula(
    name="slow-client",
    title="What a slow client holds",
    question="How long does a client on a slow line hold a process?",
    inputs=(
        Input(name="page", kind="size", meaning="The answer", example="100kB"),
        Input(name="link", kind="bandwidth", meaning="The client's line", example="28.8kbit"),
        _SERVICE,
        Input(
            name="buffer",
            kind="size",
            meaning="What the kernel takes of an answer before a write waits",
            example="",
            default="16KiB",
            is_above=False,
        ),
        Input(
            name="linger",
            kind="duration",
            meaning="How long the server waits at most for the client to close; 0s where the "
            "connection is kept",
            example="",
            default="2s",
            is_above=False,
        ),
    ),
    expression="hold = max(0, page − buffer) / link + min(min(page, buffer) / link, linger)",
    steps=(
        Step(
            name="blocked",
            expression="max(0, page - buffer) / link",
            kind="duration",
            meaning="In write: until the rest of the answer fits into the kernel's buffer",
        ),
        Step(
            name="draining",
            expression="min(page, buffer) / link",
            kind="duration",
            meaning="What then lies in the buffer takes so long to go out, without the process",
        ),
        Step(
            name="lingering",
            expression="min(draining, linger)",
            kind="duration",
            meaning="In lingering close: until the client has it all and closes, or time is up",
        ),
        Step(
            name="hold",
            expression="blocked + lingering",
            kind="duration",
            meaning="Held by the client, beyond the service",
        ),
        Step(
            name="lost",
            expression="hold / service",
            kind="number",
            meaning="Requests that the process could have answered meanwhile",
        ),
        Step(
            name="times",
            expression="(service + hold) / service",
            kind="factor",
            meaning="So many times the children, for the same rate",
        ),
    ),
    answer="held {hold} beyond {service} of service: {times} the children for the same rate",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.10, the hold",
            text="hold = page / link",
            printed="6 s for 10 kB at 3.6 kB/s",
            verdict="wrong",
            remark="It divides 20 kB: 10 kB take 2.78 s, 20 kB take 5.56 s. And what fits into the "
            "kernel's buffer holds nobody in write",
            expression="page / link",
            kind="duration",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.10, the factor",
            text="children × hold / service",
            printed="12 requests lost, a twelfth of the children",
            verdict="wrong",
            remark="It leaves the service itself out: (service + hold) / service, 13 with its 6 s, "
            "6.6 with 10 kB",
            expression="page / link / service",
            kind="factor",
        ),
    ),
    caveats=(
        "Linux lets the buffer grow while a connection lasts, from about 16 KiB up to 4 MiB "
        "(`net.ipv4.tcp_wmem`); `ss -tmi` shows it of a running one. A larger buffer holds less",
        "a client that reads slowly has a receive buffer too, which counts as part of the buffer; "
        "a line that is slow has not",
        "a connection that is kept alive ends in the wait for the next request instead: see "
        "`keep-alive`",
        "lingering close is Apache's, 2 s after the last byte from the client, and holds a worker "
        "of prefork and worker, not of event; a proxy in front takes all of it over",
    ),
)

_KEEP_ALIVE = Formula(
    name="keep-alive",
    title="What a kept connection holds",
    question="How many times the children does keep-alive take, where a child waits with each "
    "connection?",
    inputs=(
        _SERVICE,
        Input(
            name="timeout",
            kind="duration",
            meaning="How long the server waits for a next request",
            example="15s",
            is_above=False,
        ),
        Input(
            name="requests",
            kind="count",
            meaning="Requests of a visit on one connection",
            example="",
            default="1",
        ),
        Input(
            name="gap",
            kind="duration",
            meaning="Time between an answer and the next request of the visit",
            example="",
            default="0s",
            is_above=False,
        ),
    ),
    expression="times = (requests × service + (requests − 1) × gap + timeout) / "
    "(requests × service)",
    steps=(
        Step(
            name="held",
            expression="requests * service + (requests - 1) * gap + timeout",
            kind="duration",
            meaning="A child's time with a connection",
        ),
        Step(
            name="times",
            expression="held / (requests * service)",
            kind="factor",
            meaning="So many times the children, for the same rate",
        ),
    ),
    answer="a child is held {held} for each visit: {times} the children for the same rate",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.11",
            text="KeepAlive Off on the heavy server",
            printed="without a figure",
            verdict="unsupported",
            remark="With its service of 0.5 s and the timeout of 15 s it is 31 times",
        ),
    ),
    caveats=(
        "of Apache's prefork and worker; event, nginx and other event loops wait without a worker",
        "clients that close at once hold nobody: the timeout is the most",
    ),
)

_QUEUE_WAIT = Formula(
    name="queue-wait",
    title="Waiting in a queue",
    question="How long do clients wait when more ask than can be answered at once?",
    inputs=(
        Input(name="clients", kind="count", meaning="Clients that ask at once", example="100"),
        Input(name="rate", kind="rate", meaning="Answers a second", example="30/s"),
        _THINK,
    ),
    expression="last = clients / rate; mean = (clients + 1) / (2 × rate)",
    steps=(
        Step(
            name="last",
            expression="clients / rate",
            kind="duration",
            meaning="The last client of a burst that nobody follows",
        ),
        Step(
            name="mean",
            expression="(clients + 1) / (2 * rate)",
            kind="duration",
            meaning="The mean client of such a burst",
        ),
        Step(
            name="closed",
            expression="max(0, clients / rate - think)",
            kind="duration",
            meaning="Each client of a closed loop, where whoever was answered asks again",
        ),
    ),
    answer="a burst: {last} for the last, {mean} for the mean client; a closed loop: {closed} for "
    "each",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.1, and part VII of the web series (2001)",
            text="wait = clients / rate",
            printed="16 s for 400 at 25/s",
            verdict="agrees",
            expression="clients / rate",
            kind="duration",
        ),
        AsPrinted(
            source="the same places",
            text="wait = clients / rate",
            printed="3.5 s for 100 at 30/s",
            verdict="wrong",
            remark="100 / 30 is 3.33",
        ),
        AsPrinted(
            source=f"{HANDOUT}, 2.22.1, on mod_cgi",
            text="wait = requests of the run / rate",
            printed="100 s and 1,000 s at 1.12 to 1.14/s",
            verdict="wrong",
            remark="These are lengths of whole runs: each client waited 8.93, 43.9 and 88.5 s with "
            "10, 50 and 100 clients",
        ),
    ),
    caveats=(
        "`ab -c` and `httpdyno load -c` are closed loops; a site's visitors are not: they do not "
        "wait with asking",
    ),
)

_CLOSED_LOOP = Formula(
    name="closed-loop",
    title="A load test's report against itself",
    question="Do the rate and the mean latency of a closed loop account for all of its clients?",
    inputs=(
        Input(name="clients", kind="count", meaning="Clients of the loop", example="10"),
        Input(name="rate", kind="rate", meaning="Answers a second", example="10.65/s"),
        Input(name="latency", kind="duration", meaning="Mean latency", example="850ms"),
        _THINK,
    ),
    expression="clients = rate × (latency + think)",
    steps=(
        Step(
            name="busy",
            expression="rate * (latency + think)",
            kind="number",
            meaning="Clients that are accounted for (Little's law)",
        ),
        Step(
            name="share",
            expression="busy / clients",
            kind="share",
            meaning="Of all",
        ),
    ),
    answer="{busy} of {clients} clients are accounted for, {share}",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.3, pounder's output",
            text="10.65/s, 0.85 s, 10 agents",
            printed="without the check",
            verdict="agrees",
            remark="9.05 of 10",
            expression="rate * latency",
        ),
        AsPrinted(
            source=f"{BOOK}, pages 386-387",
            text="755 to 741/s, avtime 333 to 402 ms, 300 clients",
            printed="without the check",
            verdict="unsupported",
            remark="251 to 298 of 300: avtime misses up to 16 % of the clients' time, most where "
            "the queue is longest",
        ),
    ),
    caveats=(
        "far below 100 %: the latency leaves something out (connecting, queueing), or a straggler "
        "kept the run open after the others had ended",
        "far above it: the run was not steady, or the times are of other requests than the rate",
    ),
)

FORMULAS = (_SLOW_CLIENT, _KEEP_ALIVE, _QUEUE_WAIT, _CLOSED_LOOP)
