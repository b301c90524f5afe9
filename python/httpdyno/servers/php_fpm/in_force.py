"""What a running php-fpm says is in force, and what is made of it. Pure.

Of OPcache's own memory `ini_get` is not believed: it tells what a pool's `php_admin_value` says,
while the memory was laid out when the master started. `opcache_get_status` tells what is there,
except of how much memory it has in all: that is seen in the master's mappings.
"""

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from httpdyno.model import level_text
from httpdyno.servers.php_fpm.configuration import GLOBAL, truth
from httpdyno.servers.php_fpm.knob import (
    JIT,
    JIT_BUFFER,
    KNOBS,
    OFF,
    SPARE,
    SPARE_PARTS,
    is_same,
    jit_parts,
    jit_text,
)

_MARK = "httpdyno:"
_MEGABYTE = 1 << 20
_BACKLOG_COLUMN = 3
"""Of a listening socket: how many connections may wait."""
_ADDRESS_COLUMN = 4
_SHARED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-s .*(?:/dev/zero|/SYSV|/dev/shm/)")
_LISTED = re.compile(r"^(\S+) => .* => (.*)$", re.MULTILINE)
_NO_VALUE = "no value"
_OWN = re.compile(r"php_(?:admin_)?(?:value|flag)\[(.+)\]")
_TESTED = re.compile(r"^\[[^\]]*\] NOTICE:\s+(\S.*?)\s*$")
_KEYS = (223, 463, 983, 1979, 3907, 7963, 16229, 32531, 65407, 130987, 262237, 524521, 1048793)
"""Sizes that OPcache's table of scripts has: the next one that holds what was asked for.

Source: php-src, ext/opcache/zend_accelerator_hash.c, `prime_numbers`.
"""
_JIT_SLACK_BYTES = 65_536
"""What PHP takes of the compiler's memory for itself, and rounds to pages, is less."""

PROGRAM = f"""<?php
$names = [{", ".join(f"'{name}'" for name in (*KNOBS, JIT_BUFFER, "opcache.restrict_api"))}];
$values = [];
foreach ($names as $name) {{ $values[$name] = ini_get($name); }}
$status = function_exists('opcache_get_status') ? @opcache_get_status(false) : null;
echo "\\n{_MARK}", json_encode(['values' => $values, 'opcache' => $status]), "\\n";
"""
"""It tells what PHP has in force, in one line of JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhpSays:
    """What the script told of one pool."""

    values: Mapping[str, str] = field(default_factory=dict)
    """`ini_get`, of what is known to it."""
    opcache: Mapping[str, Any] | None = None
    """`opcache_get_status`; None where it is off, or does not tell."""
    is_told: bool = True
    """Whether OPcache tells at all what it does."""
    mapped_bytes: Collection[int] = ()
    """Sizes of the memories that php-fpm's master shares with its children."""


def php_says(body: str, *, mapped_bytes: Collection[int] = ()) -> PhpSays | None:
    """Return what the script's answer tells; None where it is no answer of it.

    Args:
        body: What it printed.
        mapped_bytes: Sizes of the memories that the master shares.
    """
    for line in body.splitlines():
        if not line.startswith(_MARK):
            continue
        try:
            told = json.loads(line.removeprefix(_MARK))
            values = {n: _text(v) for n, v in told["values"].items() if v is not False}
            status = told["opcache"]
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None
        is_told = status is not None and not values.get("opcache.restrict_api")
        return PhpSays(
            values=values,
            opcache=status if is_told and isinstance(status, dict) else None,
            is_told=is_told,
            mapped_bytes=mapped_bytes,
        )
    return None


def ini_text(name: str, says: PhpSays, asked: str) -> str:
    """Return what is in force of an ini knob; as it was asked for where PHP means the same."""
    text = _said_text(name, says, asked)
    return asked if is_same(name, text, asked) else text


def _said_text(name: str, says: PhpSays, asked: str) -> str:
    status = says.opcache
    if name == "opcache.enable" and says.is_told:
        return "true" if status is not None and status.get("opcache_enabled", True) else "false"
    if name == JIT:
        return _jit_text(says, asked)
    if status is not None:
        seen = _seen(name, status, says)
        if seen:
            return seen
    text = says.values.get(name, "not set")
    if KNOBS[name].info.kind == "boolean":
        return level_text(truth(text) is True)
    return text


def _seen(name: str, status: Mapping[str, Any], says: PhpSays) -> str:
    """Return what OPcache really laid out; empty where it does not tell."""
    said = says.values.get(name, "")
    try:
        if name == "opcache.memory_consumption":
            return _memory_mapped(said, says.mapped_bytes)
        if name == "opcache.interned_strings_buffer":
            return str(math.ceil(status["interned_strings_usage"]["buffer_size"] / _MEGABYTE))
        if name == "opcache.max_accelerated_files":
            n_keys = int(status["opcache_statistics"]["max_cached_keys"])
            return said if n_keys == _table_size(said) else f"room for {n_keys}"
    except (KeyError, TypeError, ValueError):
        return ""
    return ""


def _memory_mapped(said: str, mapped_bytes: Collection[int]) -> str:
    """Return OPcache's memory in MB: what it says where that is mapped, else the largest.

    Its status is no witness: what it calls used is what the setting says, less what is free.
    """
    if not mapped_bytes or (said.isdecimal() and int(said) * _MEGABYTE in mapped_bytes):
        return said
    return str(math.ceil(max(mapped_bytes) / _MEGABYTE))


def mapped_sizes(maps: str) -> frozenset[int]:
    """Return the bytes of each memory that a process shares, out of `/proc/PID/maps`."""
    found = set()
    for line in maps.splitlines():
        match = _SHARED.match(line)
        if match:
            found.add(int(match[2], 16) - int(match[1], 16))
    return frozenset(found)


def _table_size(text: str) -> int:
    asked = int(text) if text.isdecimal() else 0
    return next((size for size in _KEYS if size >= asked), _KEYS[-1])


def _jit_text(says: PhpSays, asked: str) -> str:
    if not says.is_told:
        return jit_text(says.values.get(JIT, ""), says.values.get(JIT_BUFFER, ""))
    jit = (says.opcache or {}).get("jit") or {}
    n_bytes = int(jit.get("buffer_size", 0))
    if not jit.get("on") or not n_bytes:
        return OFF
    kind = says.values.get(JIT, "")
    wanted = jit_parts(asked)
    if wanted and 0 <= wanted[1] - n_bytes < _JIT_SLACK_BYTES:
        n_bytes = wanted[1]
    n_megabytes = math.ceil(n_bytes / _MEGABYTE)
    is_round = n_megabytes * _MEGABYTE - n_bytes < _JIT_SLACK_BYTES
    return f"{kind}/{n_megabytes}M" if is_round else f"{kind}/{n_bytes}"


def read_back(words: str) -> dict[str, dict[str, str]]:
    """Return what php-fpm's own test (`-tt`) tells: section → name → text."""
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for line in words.splitlines():
        match = _TESTED.match(line)
        if match is None:
            continue
        name, equals, text = match[1].partition(" = ")
        if match[1].startswith("[") and match[1].endswith("]"):
            section = found.setdefault(match[1][1:-1], {})
        elif equals:
            section[name] = text
        elif match[1].endswith(" ="):
            section[match[1].removesuffix(" =")] = ""
    return found


def read_back_text(name: str, said: Mapping[str, Mapping[str, str]], pool: str) -> str:
    """Return what the test tells of a knob; empty where it does not tell."""
    place = KNOBS[name].place
    values = said.get(GLOBAL if place == "global" else pool, {})
    if name == SPARE:
        parts = [values.get(part, "0") for part in SPARE_PARTS]
        return "/".join(parts)
    text = values.get(name, "")
    return text.removesuffix("s") if KNOBS[name].info.unit == "s" else text


def n_children_at_start(said: Mapping[str, str]) -> int:
    """Return how many children a pool starts before anybody asks it anything."""
    name = {"static": "pm.max_children", "dynamic": "pm.start_servers"}.get(said.get("pm", ""))
    text = said.get(name, "0") if name else "0"
    return int(text) if text.isdecimal() else 0


def read_at_start(listing: str, said: Mapping[str, str]) -> PhpSays:
    """Return what stands in the files that PHP reads, where no script may tell what is in force.

    Args:
        listing: What `php-fpm -i` prints: names with the server's own values.
        said: What php-fpm's own test tells of the pool.
    """
    values = {match[1]: match[2] for match in _LISTED.finditer(listing)}
    own = {match[1]: text for name, text in said.items() if (match := _OWN.fullmatch(name))}
    values |= {name: t for name, t in own.items() if name in KNOBS and KNOBS[name].is_per_pool}
    plain = {name: "" if text == _NO_VALUE else text for name, text in values.items()}
    return PhpSays(values=plain, is_told=False)


def backlog_listed(listing: str, address: str) -> int | None:
    """Return the backlog of a listening socket out of `ss -lntxH`; None where it is not there."""
    wanted = address.removeprefix("unix:")
    _, colon, port = wanted.rpartition(":")
    is_port = bool(colon) and "/" not in wanted
    for line in listing.splitlines():
        columns = line.split()
        if len(columns) <= _ADDRESS_COLUMN:
            continue
        listed = columns[_ADDRESS_COLUMN]
        if listed == wanted or (is_port and listed.endswith(f":{port}")):
            return int(columns[_BACKLOG_COLUMN])
    return None


def _text(value: object) -> str:
    return "" if value is None else str(value)
