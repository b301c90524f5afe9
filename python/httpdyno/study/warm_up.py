"""`warm_up_requests` of a study file: a warm-up by count."""

from httpdyno.model.arrival import Closed, Constant, Poisson
from httpdyno.model.study import Method
from httpdyno.model.workload import Workload
from httpdyno.study.site import Wrong


def check_warm_up(method: Method, workload: Workload, wrong: Wrong) -> None:
    """Refuse a number of requests that nothing would reach, or that a load has no say in.

    Raises:
        StudyFileError: With what there would have to be.
    """
    n = method.warm_up_requests
    if not n:
        return
    if method.warm_up_s <= 0:
        expected = "the longest that `method.warm_up_requests` may take, more than zero"
        raise wrong("method.warm_up", f"{method.warm_up_s:g}s", expected)
    if not isinstance(workload.arrival, Closed | Constant | Poisson):
        expected = "none but of users who wait for answers, or of a steady rate"
        raise wrong("method.warm_up_requests", n, expected)
    if isinstance(workload.arrival, Constant | Poisson):
        rate, limit_s = workload.arrival.rate_per_s, method.warm_up_s
        if n > rate * limit_s:
            expected = f"at most {rate * limit_s:g}: {rate:g}/s for `method.warm_up`, {limit_s:g}s"
            raise wrong("method.warm_up_requests", n, expected)
