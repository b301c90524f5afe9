"""How long an answer holds a worker, by a status page that is asked again and again. Pure.

Little's law: workers that are at answers, over answers a second. Both are means, the former of as
many moments as there were looks, so what is said holds of all answers since the first status. Of
Apache's states those count in which it makes an answer: reading is also what a process does that
waits for a client's first byte, and keep-alive and closing hold it when the answer is made.

Apache's own `Total Duration` is not taken: 2.4.71 has the time of a CGI script in it twice.

Source: Little, A Proof for the Queuing Formula L = λW, Operations Research 9, 1961.
"""

from dataclasses import dataclass, replace

from httpdyno.telemetry.status_text import APACHE, NGINX, PHP_FPM, Status

_AT_ANSWERS = {
    APACHE: ("W answering", "D looking up names", "L logging"),
    # Also while it waits for what is behind it.
    NGINX: ("writing",),
    PHP_FPM: ("active",),
}
_SIGHTINGS = 10
"""Workers that were seen at answers: of fewer a mean says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerTime:
    """What an answer takes of a worker, in the mean."""

    seconds: float
    n_looks: int
    n_seen: int
    """Workers that these looks saw at answers, added up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusTally:
    """What a page said from the first time on."""

    first: Status
    first_at_s: float
    last: Status
    last_at_s: float
    """Of the same clock."""
    n_looks: int
    n_seen: int

    @property
    def answer_time(self) -> AnswerTime | None:
        """What an answer took; None where too little was seen or the page does not tell it."""
        first, last = self.first.n_requests, self.last.n_requests
        seconds = self.last_at_s - self.first_at_s
        if first is None or last is None or seconds <= 0 or self.n_seen < _SIGHTINGS:
            return None
        n_own = self.n_looks - 1 if self.last.counts_itself else 0
        n_answers = last - first - n_own
        if n_answers <= 0:
            return None
        per_s = n_answers / seconds
        return AnswerTime(
            seconds=self.n_seen / self.n_looks / per_s, n_looks=self.n_looks, n_seen=self.n_seen
        )


def tallied(tally: StatusTally | None, status: Status | None, at_s: float) -> StatusTally | None:
    """Return the tally with what a page says at one moment.

    Args:
        tally: Until then; None before the first status.
        status: None where it did not answer.
        at_s: When that was.
    """
    if status is None or status.server not in _AT_ANSWERS:
        return tally
    others = status.others
    n_seen = sum(others.get(name, 0) for name in _AT_ANSWERS[status.server])
    if tally is None or (status.n_requests or 0) < (tally.last.n_requests or 0):
        # A server that began anew counts anew.
        return StatusTally(
            first=status,
            first_at_s=at_s,
            last=status,
            last_at_s=at_s,
            n_looks=1,
            n_seen=n_seen,
        )
    return replace(
        tally,
        last=status,
        last_at_s=at_s,
        n_looks=tally.n_looks + 1,
        n_seen=tally.n_seen + n_seen,
    )
