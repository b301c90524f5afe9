"""Figure 3: what a mix of requests costs over one request again and again.

Ten requests by weight, one of them posts a body with places to fill in, users keep the cookie that
one of the pages sets. Beside it the plain GET of figure 1, at the same nginx, in the order ABBA.
"""

from typing import Any

from benches.engine import engine
from benches.engine.cost import abba, counted, our_run, ratio, warm
from benches.engine.figure import Figure, Part
from benches.engine.origin import Nginx
from benches.engine.setting import Setting

TARGET = 1.10
BODY = '{"order": {n}, "by": "{user}", "nonce": "{random}", "items": [1, 2, 3], "note": "as usual"}'
_JSON = [("Content-Type", "application/json")]
WEIGHTS = (10, 10, 9, 8, 7, 5, 4, 3, 2, 2)
_STEPS_PER_VISIT, _NEW_USERS_RATIO = 10, 0.1


def measure(setting: Setting) -> Figure:
    """Measure figure 3."""
    figure = Figure(number=3, name="10-request mix with cookies and a templated body")
    job = whole()
    with Nginx(setting) as nginx:
        warm(setting, nginx.address)
        pairs = abba(
            lambda: counted(nginx, lambda: our_run(setting, nginx.address, **job)),
            lambda: counted(nginx, lambda: our_run(setting, nginx.address)),
            setting.pairs,
        )
    figure.raw = {"pairs": pairs, "requests": table(), "weights": WEIGHTS}
    figure.parts = [
        Part(
            name="CPU per request at nginx",
            estimate=ratio(pairs),
            unit=" × one GET",
            at_most=TARGET,
            by_bound=True,
        )
    ]
    figure.command = "httpdyno load URL --url-file MIX --cookies -c 64 -d 3s   # and without both"
    return figure


def whole() -> dict[str, Any]:
    """Return what the mix is to a job of the engine."""
    return {
        "requests": table(),
        "weights": WEIGHTS,
        "who": engine.users(
            has_cookies=True, new_ratio=_NEW_USERS_RATIO, visit_steps=_STEPS_PER_VISIT
        ),
    }


def table() -> list[dict[str, Any]]:
    """Return the ten requests: a post, the page that sets a cookie, and eight others."""
    return [
        engine.request("/order", method="POST", headers=_JSON, body=BODY),
        engine.request("/login"),
        *(engine.request(f"/page/{number}?color=blue") for number in range(8)),
    ]
