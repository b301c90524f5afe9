"""A shop that has everything behind it take an order at each request: `shop.py SETTINGS`.

What cannot be reached is no error: it answers 200 in any case, so that nobody stops asking.
"""

import http.server
import json
import os
import socket
import struct
import sys

WITHIN_S = 1.0
SETTINGS = json.load(open(sys.argv[1]))


def say(where, words, *, waits=True):
    family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(WITHIN_S)
        client.connect(where)
        client.sendall(words)
        return client.recv(1000) if waits else b""


def both(each, words):
    """Say it to the socket, and to the port beside it."""
    tried(lambda: say(each["path"], words))
    if "port" in each:
        tried(lambda: say(("127.0.0.1", each["port"]), words))


def tried(action):
    try:
        action()
    except Exception:
        pass


def mariadb(each):
    import pymysql

    for where in ({"unix_socket": each["path"]}, {"host": "127.0.0.1", "port": each["port"]}):
        tried(lambda where=where: insert_into_mariadb(pymysql, where))


def insert_into_mariadb(pymysql, where):
    connection = pymysql.connect(
        user="app", database="shop", autocommit=True, connect_timeout=WITHIN_S, **where
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders () VALUES ()")


def postgresql(each):
    import psycopg2

    for host in (os.path.dirname(each["path"]), "127.0.0.1"):
        tried(lambda host=host: insert_into_postgresql(psycopg2, host, each["port"]))


def insert_into_postgresql(psycopg2, host, port):
    connection = psycopg2.connect(
        host=host, port=port, user="postgres", dbname="postgres", connect_timeout=1
    )
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders DEFAULT VALUES")
    connection.close()


def haproxy(each):
    order = b"POST /order HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    tried(lambda: say(each["path"], order))
    admin = os.path.join(os.path.dirname(each["path"]), "admin.sock")
    tried(lambda: say(admin, b"set weight b/s1 50%\n"))


def fastcgi(each):
    script = os.path.join(os.path.dirname(each["path"]), "order.php")
    words = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET"}
    pairs = b"".join(
        bytes([len(name), len(value)]) + name.encode() + value.encode()
        for name, value in words.items()
    )
    records = ((1, struct.pack("!HB5x", 1, 0)), (4, pairs), (4, b""), (5, b""))
    message = b"".join(
        struct.pack("!BBHHBx", 1, kind, 1, len(body), 0) + body for kind, body in records
    )
    tried(lambda: say(each["path"], message))


def fifo(each):
    handle = os.open(each["path"], os.O_WRONLY | os.O_NONBLOCK)
    os.write(handle, b"order\n")
    os.close(handle)


def datagram(each):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(each["path"])
        client.send(b"order\n")


def memcached(each):
    words = b"incr orders 1\r\n"
    tried(lambda: say(each["path"], words))
    tried(lambda: say(os.path.join(os.path.dirname(each["path"]), each["second"]), words))


KINDS = {
    "redis": lambda each: both(each, b"INCR orders\r\n"),
    "haproxy": haproxy,
    "mariadb": mariadb,
    "postgresql": postgresql,
    "memcached": memcached,
    "memcached tcp": lambda each: say(("127.0.0.1", each["port"]), b"incr orders 1\r\n"),
    "fastcgi": fastcgi,
    "fifo": fifo,
    "datagram": datagram,
    "plain": lambda each: say(each["path"], b"order\n"),
}


class Shop(http.server.BaseHTTPRequestHandler):
    """Orders of everything."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or each waits for the other end's word

    def do_GET(self):
        for each in SETTINGS["services"]:
            tried(lambda each=each: KINDS[each["kind"]](each))
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
        self.wfile.flush()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 64
http.server.ThreadingHTTPServer(("127.0.0.1", SETTINGS["port"]), Shop).serve_forever()
