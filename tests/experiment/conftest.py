import pytest

from httpdyno.model import Knob, Method, Objective, ServerSpec, Study, Workload


@pytest.fixture
def study():
    """A ladder of one good, one bad and one inert knob."""
    return Study(
        name="fake",
        title="a study of nothing",
        folder="/nowhere",
        server=ServerSpec(adapter="fake"),
        knobs=(
            Knob(name="good", start=0, levels=(1, 2), book_ratio=(1.5, 1.2)),
            Knob(name="bad", start=False, levels=(True,)),
            Knob(name="inert", start="a", levels=("b",)),
        ),
        workload=Workload(),
        objective=Objective(),
        method=Method(window_s=0.5, lead_in_s=0.1, blocks_per_start=4),
        budget_s=600.0,
    )
