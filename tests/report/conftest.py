"""Charts are drawn where a test looks at them; in other tests each is an empty drawing."""

import pytest
import vl_convert

LOOK_AT_CHARTS = frozenset({"test_chart", "test_html", "test_turns"})
"""Modules whose charts are drawn, of each kind of page too: `test_html` has them all."""
EMPTY = '<svg width="1" height="1"></svg>'


@pytest.fixture(autouse=True)
def quick_charts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing, which takes a tenth of a second a page, where no test sees it."""
    if request.module.__name__.rpartition(".")[2] not in LOOK_AT_CHARTS:
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda _spec: EMPTY)
