"""How many starts there is room for."""

import math

from tests.rows import each_row

from httpdyno.experiment.trial.memory import ArmSize, Room, n_side_by_side

MIB = 1 << 20
SMALL = ArmSize(pss_bytes=20 * MIB, n_processes=2)
LARGE = ArmSize(pss_bytes=1000 * MIB, n_processes=150)
ROOM = Room(memory_bytes=4000 * MIB, n_processes=2000, n_descriptors=1000)


@each_row(
    ("sizes", "room", "connections", "limit", "expected"),
    [
        ((SMALL, SMALL), ROOM, 8, 8, 8),
        ((SMALL, SMALL), ROOM, 8, 3, 3),
        ((SMALL, None), ROOM, 8, 8, 1),
        ((LARGE, SMALL), ROOM, 8, 8, 1),
        ((LARGE, LARGE), ROOM, 8, 8, 1),
        (
            (LARGE, LARGE),
            Room(memory_bytes=math.inf, n_processes=2000, n_descriptors=1000),
            8,
            8,
            3,
        ),
        ((SMALL, SMALL), ROOM, 100, 8, 4),
        ((SMALL, SMALL), ROOM, 1000, 8, 1),
        (
            (SMALL, SMALL),
            Room(memory_bytes=math.inf, n_processes=math.inf, n_descriptors=math.inf),
            1000,
            8,
            8,
        ),
        ((ArmSize(pss_bytes=0, n_processes=0),) * 2, ROOM, 8, 8, 8),
    ],
)
def test_what_there_is_least_room_for_decides(sizes, room, connections, limit, expected):
    assert n_side_by_side(sizes, room, connections=connections, limit=limit) == expected
