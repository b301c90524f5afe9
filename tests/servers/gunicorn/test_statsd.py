"""The kernel's tables of UDP sockets."""

from tests.rows import each_row

from httpdyno.servers.gunicorn.statsd import UdpSocket, udp_sockets

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  inode ref\n"
)
ROW = "  2: {local} {peer} {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 2 0 0\n"


@each_row(
    ("local", "peer", "address", "at", "is_connected"),
    [
        ("0100007F:A1B2", "0100007F:1FBD", "127.0.0.1:41394", "127.0.0.1:8125", True),
        ("00000000:1FBD", "00000000:0000", "0.0.0.0:8125", "0.0.0.0:0", False),
        (
            "00000000000000000000000001000000:A1B2",
            "00000000000000000000000001000000:1FBD",
            "[::1]:41394",
            "[::1]:8125",
            True,
        ),
    ],
)
def test_a_row_is_a_socket(local, peer, address, at, is_connected):
    state = "01" if is_connected else "07"
    rows = ROW.format(local=local, peer=peer, state=state, inode=4711)
    [(inode, found)] = udp_sockets(HEAD + rows).items()
    assert (inode, found) == (4711, UdpSocket(address=address, peer=at))
    assert found.is_connected == is_connected
    assert found.port == int(address.rpartition(":")[2])
