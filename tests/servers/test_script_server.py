"""What every adapter must do, on servers that listen at a port, at a unix socket, and at both."""

import pytest
from tests.conformance.adapter import AdapterCase, AdapterConformance
from tests.conformance.script_server import ScriptServer

from httpdyno.model import Configuration, ServerSpec

SCRIPT = """
import os, selectors, socket, sys
places, level = sys.argv[1].split(","), sys.argv[2]
if level == "13":
    print("level 13 is not to be had")
    sys.exit(78)
selector = selectors.DefaultSelector()
for place in places:
    family = socket.AF_INET if place.isdigit() else socket.AF_UNIX
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(place)) if place.isdigit() else place)
    listener.listen(64)
    selector.register(listener, selectors.EVENT_READ)
os.fork()
while True:
    for key, _ in selector.select():
        key.fileobj.setblocking(False)
        try:
            connection = key.fileobj.accept()[0]
        except BlockingIOError:
            continue
        connection.setblocking(True)
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        connection.close()
"""


def case_of(folder, listen):
    (folder / "server.py").write_text(SCRIPT)
    return AdapterCase(
        adapter=ScriptServer(),
        spec=ServerSpec(adapter="script", settings={"script": "server.py", "listen": listen}),
        study_folder=folder,
        configuration=Configuration(values={"level": 1}),
        nonsense=Configuration(values={"level": 13}),
        words="level 13 is not to be had",
    )


class TestAtAPort(AdapterConformance):
    @pytest.fixture
    def case(self, tmp_path):
        return case_of(tmp_path, "port")


class TestAtASocketAndAPort(AdapterConformance):
    @pytest.fixture
    def case(self, tmp_path):
        return case_of(tmp_path, "socket port")

    def test_the_first_address_is_the_one_that_was_named_first(self, starter):
        running, place = starter.ready()
        socket, port = running.addresses
        assert socket == f"unix:{place.memory_folder}/socket"
        assert port.startswith("127.0.0.1:")
