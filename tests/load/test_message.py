"""The message between Python and the engine: each side knows all that the other has."""

from array import array
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from msgspec import inspect
from tests.load.origin import origin
from tests.load.site import Site, serving
from tests.rows import each_row

from httpdyno import _native
from httpdyno.load.access_log import Recording
from httpdyno.load.message import WindowPlan, spec_message
from httpdyno.model import (
    Arrival,
    Closed,
    Constant,
    Evidence,
    LiveLoad,
    Measurement,
    Poisson,
    RateStage,
    Replay,
    ReplayedLog,
    RequestSpec,
    Sessions,
    SlowUsers,
    Stages,
    Think,
    TlsSpec,
    Users,
    Visit,
    VisitStep,
    Workload,
)

FILES = {"body_file", "roots_file", "certificate_file", "key_file"}
"""What is in them is put into the message, in place of their names."""
CLIENT = {"threads": 1, "cpus": (), "seed": 1, "drain_s": 1.0, "spin_s": 0.0, "n_traced": 5}
PAGES = Workload(
    requests=(RequestSpec(), RequestSpec(path="/no"), RequestSpec(path="/stall")),
    steps=(VisitStep(request=0, objects=(0, 2)), VisitStep(request=1), VisitStep(request=2)),
    connections=8,
    users=Users(has_cookies=True, visit=Visit(mean_steps=2), think=Think(mean_s=0.001)),
    slow=SlowUsers(ratio=0.5, bytes_per_s=20_000.0),
    timeout_s=0.2,
)

STAGES = (RateStage(from_per_s=0.0, to_per_s=5.0, duration_s=1.0),)
ARRIVALS: list[Arrival] = [
    Closed(),
    Constant(rate_per_s=5.0),
    Poisson(rate_per_s=5.0),
    Stages(stages=STAGES, is_poisson=True),
    Sessions(stages=STAGES),
    Replay(log="access.log"),
]


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        yield one
        one.release.set()


def message(
    workload: Workload,
    address: str = "127.0.0.1:1",
    tail_s: float = 0.0,
    recording: Recording | None = None,
) -> bytes:
    plan = WindowPlan(arm=0, lead_in_s=0.0, measure_s=0.5, tail_s=tail_s)
    return spec_message(workload, [address], recording, (), (), windows=[plan], **CLIENT)


def keys(value: Any, within: str = "") -> set[str]:
    """Return the names in a decoded message, each with those that it is in."""
    if isinstance(value, list):
        return set().union(*(keys(each, within) for each in value))
    if not isinstance(value, dict):
        return set()
    own = {f"{within}{name}" for name in value}
    return own.union(*(keys(each, f"{within}{name}.") for name, each in value.items()))


def fields(kind: inspect.Type, within: str = "") -> set[str]:
    """Return the names in a type, each with those that it is in."""
    match kind:
        case inspect.StructType(fields=parts):
            own = {f"{within}{part.encode_name}" for part in parts}
            return own.union(*(fields(part.type, f"{within}{part.encode_name}.") for part in parts))
        case inspect.UnionType(types=kinds):
            return set().union(*(fields(each, within) for each in kinds))
        case inspect.VarTupleType(item_type=item):
            return fields(item, within)
        case _:
            return set()


def run(message: bytes) -> tuple[list[bytes], bytes]:
    handle = _native.start(message, None)
    seen = b""
    while not handle.wait(0.05):
        seen = handle.live() or seen
    return handle.results(0), seen


def log_of(arrival: Arrival) -> Recording | None:
    """Return what the log of a replay came to."""
    if not isinstance(arrival, Replay):
        return None
    return Recording(
        requests=(RequestSpec(path="/a"),),
        offsets_ns=array("Q", [0]),
        steps=array("I", [0]),
        log=ReplayedLog(n_lines=1),
    )


@pytest.mark.parametrize("arrival", ARRIVALS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("workload", [PAGES, Workload(tls=TlsSpec(server_name="localhost"))])
def test_the_engine_takes_all_that_a_workload_says(workload, arrival):
    loaded = msgspec.structs.replace(workload, arrival=arrival)
    unread = _native.unread(message(loaded, recording=log_of(arrival)))
    assert {each.rpartition(".")[2] for each in unread} <= FILES
    assert not {each for each in unread if "." not in each}


def test_every_arrival_is_held_against_the_engine():
    assert {type(each) for each in ARRIVALS} == set(get_args(Arrival))


@each_row("arrival", ARRIVALS, ids=lambda each: type(each).__name__)
def test_what_the_engine_does_not_know_of_an_arrival_it_refuses(arrival):
    spec = msgspec.msgpack.decode(
        message(Workload(arrival=arrival), recording=log_of(arrival)), strict=False
    )
    for part in (spec["arrival"], *spec["arrival"].get("stages", ())):
        part["jitter_s"] = 0.1
        with pytest.raises(_native.EngineError, match="unknown field `jitter_s`"):
            _native.check(msgspec.msgpack.encode(spec))
        del part["jitter_s"]
    _native.check(msgspec.msgpack.encode(spec))


def test_what_a_window_saw_has_every_field_and_no_other(site, tmp_path):
    credited = message(PAGES, site.address, tail_s=1.0)
    counted = message(msgspec.structs.replace(PAGES, timeout_s=5.0), site.address)
    due = Workload(arrival=Constant(rate_per_s=50.0), connections=2)
    specs = [credited, counted, message(due, site.address)]
    messages = [each for spec in specs for each in run(spec)[0]]
    doors = ("--tls-door", "127.0.0.1:0", "--tls-folder", str(tmp_path))
    with origin(*doors) as known:
        secure = Workload(connections=2, tls=TlsSpec(server_name="localhost", is_verified=False))
        messages += run(message(secure, known.facts["tls_address"]))[0]
        stranger = msgspec.structs.replace(secure, tls=TlsSpec(server_name="localhost"))
        messages += run(message(stranger, known.facts["tls_address"]))[0]
    decoder = msgspec.msgpack.Decoder(Measurement)
    for each in messages:
        decoder.decode(each)  # strict: another name or type is refused
    seen = set().union(*(keys(msgspec.msgpack.decode(each)) for each in messages))
    missing = fields(inspect.type_info(Measurement)) - seen
    # What experiments add, and no engine says.
    assert missing == {"beside", "of_request"}
    # Not refused above: `Evidence` takes figures that it does not know.
    names = {each.removeprefix("evidence.") for each in seen if each.startswith("evidence.")}
    assert names == set(Evidence.__struct_fields__)


def test_a_look_has_every_field_and_no_other(site):
    _, seen = run(message(Workload(connections=2), site.address))
    msgspec.msgpack.decode(seen, type=LiveLoad)
    assert fields(inspect.type_info(LiveLoad)) == keys(msgspec.msgpack.decode(seen))


@each_row("broken", [b"", b"\xc1", msgspec.msgpack.encode({"arms": []})])
def test_what_is_no_spec_is_one_sentence(broken):
    with pytest.raises(_native.EngineError):
        _native.start(broken, None)


@each_row(
    ("wrong", "sentence"),
    [
        ({"connections": -3}, "connections is -3; expected 1 to 1000000"),
        (
            {"requests": (RequestSpec(expect_status=70_000),)},
            "arms[0].requests[0].expect_status is 70000; expected a whole number from 0 to 65535",
        ),
        (
            {"users": Users(visit=Visit(mean_steps=2.5))},
            "users.visit is 2.5; expected a whole number",
        ),
        ({"connections_per_page": 0}, "arms[0].connections_per_page is 0; expected 1 to 1000"),
    ],
)
def test_what_the_engine_refuses_is_named_by_its_place(wrong, sentence):
    with pytest.raises(_native.EngineError) as caught:
        _native.check(message(Workload(**wrong)))
    said, place, value, expected = caught.value.args
    assert said == sentence == f"{place} is {value}; expected {expected}"


def test_what_the_engine_takes_is_checked_without_a_connection(site):
    _native.check(message(PAGES, site.address))
    assert site.seen == []
