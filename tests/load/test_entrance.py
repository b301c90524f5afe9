"""Who got through the first steps, in words."""

from tests.rows import each_row
from tests.words import words as shown

from httpdyno.load.entrance import entrance_trouble, n_entered
from httpdyno.model import Measurement, Portion, RequestSpec, Workload

LOGIN = RequestSpec(path="/login", method="POST", expect_status=302)
WORKLOAD = Workload(first=(LOGIN, RequestSpec(path="/terms")), connections=6)


def part(completed: int, **errors: int) -> Portion:
    offered = completed + sum(errors.values())
    return Portion(offered=offered, completed=completed, errors=errors)


def entrance(*parts: Portion, **statuses: int) -> Measurement:
    by_request = (Portion(offered=0, completed=0), *parts)
    return Measurement(
        opened_s=0.0,
        measured_s=1.0,
        total_s=1.0,
        offered=sum(each.offered for each in parts),
        completed=sum(each.completed for each in parts),
        statuses={name[1:]: n for name, n in statuses.items()},
        by_request=by_request,
    )


@each_row(
    ("seen", "n", "words"),
    [
        (entrance(part(6), part(6), _302=6, _200=6), 6, ""),
        (
            entrance(part(0, wrong_status=6), part(0), _403=6),
            0,
            "6 of 6 users did not get through the first steps: POST /login was answered 403, "
            "where 302 is expected",
        ),
        (
            entrance(part(5, wrong_status=1), part(3, timeout=2), _302=5, _200=4),
            3,
            "3 of 6 users did not get through the first steps: POST /login got another status, "
            "where 302 is expected; GET /terms failed (timeout)",
        ),
        (
            entrance(part(4, wrong_status=1, reset=1), part(4), _302=4, _200=4, _503=1),
            4,
            "2 of 6 users did not get through the first steps: POST /login was answered 503, "
            "where 302 is expected (reset too)",
        ),
        (
            entrance(part(2), part(2)),
            2,
            "4 of 6 users did not get through the first steps",
        ),
    ],
)
def test_who_stays_out_is_told_with_the_answer_that_came(seen, n, words):
    assert n_entered(seen, WORKLOAD) == n
    assert shown(entrance_trouble(seen, WORKLOAD)) == words
