"""What is in force of php-fpm's configuration, as its files say it. Pure.

Names have the pool as their scope where there are several; with one pool they have none.
"""

import posixpath
from collections.abc import Sequence

from httpdyno.errors import AdapterError
from httpdyno.model import Listener, LogPlace, Member, Notice, Reading, Survey
from httpdyno.reason import because
from httpdyno.servers.php_fpm.configuration import (
    GLOBAL,
    IniConfiguration,
    PoolConfiguration,
    Setting,
    ini_of,
    pools_of,
    prefix_of,
    truth,
)
from httpdyno.servers.php_fpm.installation import program_of, version_in, version_numbers
from httpdyno.servers.php_fpm.knob import (
    JIT,
    JIT_BUFFER,
    KNOBS,
    SPARE,
    SPARE_PARTS,
    PhpKnob,
    is_same,
    jit_text,
)
from httpdyno.servers.stack.adapter import MemberFiles

MAIN = "fpm-config"
PREFIX = "prefix"
PHP_INI = "php.ini"
SCAN_FOLDER = "scan-dir"
"""Readings of the survey that say where the files are."""
POOL = "pool"
"""Readings with the pools' names, in their order; listeners come in the same one."""
_NOT_READ = ("include",)
_BACKLOG_IS_MOST_SINCE = (8, 2)
_DEBIAN_SESSIONS = "/var/lib/php/sessions"
_TOLD = ("display_errors", "session.save_handler", "session.save_path", "xdebug.mode")
"""Ini settings that are no knobs, and that rules look at."""
_LOGS = ("access.log", "slowlog")


def survey_of_files(member: Member, files: MemberFiles) -> Survey:
    """Return what the files say, without running anything.

    Raises:
        AdapterError: A file is not understood, or there is no pool; says where.
    """
    pools = pools_of(member, files)
    if not pools.pools:
        raise AdapterError(f"`{member.main}` and what it includes have no pool")
    ini = ini_of(member, files)
    program = program_of(member)
    version = version_in(program) if program else ""
    reader = _Reader(pools, ini, version_numbers(version))
    return Survey(
        version=f"PHP {version}" if version else "PHP",
        readings=(*_places(member, ini), *reader.readings()),
        listeners=tuple(reader.listeners(prefix_of(member))),
        logs=tuple(reader.logs()),
        modules=reader.modules(),
        writes=tuple(reader.folders_written()),
        unreadable=files.unreadable,
        notices=tuple(reader.notices()),
    )


def pool_names(survey: Survey) -> tuple[str, ...]:
    """Return the pools, in their order."""
    return tuple(reading.text for reading in survey.readings if reading.name == POOL)


def scope_of(pool: str, pools: Sequence[str]) -> str:
    """Return a pool's scope in the names of knobs and readings."""
    return pool if len(pools) > 1 else ""


def place_in(survey: Survey, name: str) -> str:
    """Return where one of the files is: `fpm-config`, `prefix`, `php.ini` or `scan-dir`."""
    reading = survey.reading(name)
    return reading.text if reading else ""


def listen_address(text: str, prefix: str) -> str:
    """Return `listen` as an address: `0.0.0.0:9000`, `[::1]:9000` or `unix:/path`."""
    if text.isdecimal():
        return f"0.0.0.0:{text}"
    host, colon, port = text.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        return f"0.0.0.0:{port}" if host == "*" else text
    return f"unix:{posixpath.join(prefix, text)}"


def _places(member: Member, ini: IniConfiguration) -> tuple[Reading, ...]:
    found = {
        MAIN: member.main,
        PREFIX: prefix_of(member),
        PHP_INI: ini.main,
        SCAN_FOLDER: ini.folder,
    }
    return tuple(Reading(name=name, scope="", text=text) for name, text in found.items() if text)


class _Reader:
    """Readings of all settings, and of knobs that nothing sets."""

    def __init__(
        self, pools: PoolConfiguration, ini: IniConfiguration, version: tuple[int, int]
    ) -> None:
        self._pools = pools
        self._ini = ini
        self._version = version

    def readings(self) -> list[Reading]:
        found = self._of_section(GLOBAL, "")
        for pool in self._pools.pools:
            scope = scope_of(pool, self._pools.pools)
            found.append(Reading(name=POOL, scope=scope, text=pool))
            found += self._of_section(pool, scope)
        for knob in KNOBS.values():
            found += self._ini_readings(knob) if knob.place == "ini" else []
        for name in _TOLD:
            found += self._told(name)
        return found

    def _told(self, name: str) -> list[Reading]:
        """Return what is written of an ini setting: for the whole, and for pools of their own."""
        pools = self._pools.pools
        own = [(pool, self._pools.php_value(pool, name)) for pool in pools]
        found = [_reading(name, scope_of(pool, pools), each) for pool, each in own if each]
        whole = self._ini.last(name)
        return [_reading(name, "", whole), *found] if whole and len(found) < len(pools) else found

    def _of_section(self, section: str, scope: str) -> list[Reading]:
        names = {s.entry.name.lower(): s for s in self._pools.of_section(section)}
        found = []
        for name in names:
            setting = self._pools.last(section, name)
            if setting and name not in _NOT_READ:
                found.append(_reading(name, scope, setting))
        place = "global" if section == GLOBAL else "pool"
        for name, knob in KNOBS.items():
            text = self._default(knob)
            if knob.place == place and name not in names and text is not None:
                found.append(Reading(name=name, scope=scope, text=text))
        if place == "pool":
            found.append(self._spare(section, scope))
        return found

    def _default(self, knob: PhpKnob) -> str | None:
        if knob.info.name == "listen.backlog" and self._version >= _BACKLOG_IS_MOST_SINCE:
            return "-1"
        return knob.compiled

    def _spare(self, pool: str, scope: str) -> Reading:
        """Return the three settings of idle children as the one knob that they are."""
        settings = [self._pools.last(pool, name) for name in SPARE_PARTS]
        start, least, most = (s.entry.text if s else "0" for s in settings)
        if settings[0] is None and least.isdecimal() and most.isdecimal():
            # What php-fpm starts with where nothing says it.
            start = str(int(least) + (int(most) - int(least)) // 2)
        origins = [s.origin for s in settings if s]
        text = f"{start}/{least}/{most}"
        return Reading(name=SPARE, scope=scope, text=text, origin=origins[0] if origins else None)

    def _ini_readings(self, knob: PhpKnob) -> list[Reading]:
        name = knob.info.name
        if not self._is_there(knob):
            return []
        found = [self._jit() if name == JIT else self._ini_reading(name, knob.compiled)]
        if not knob.is_per_pool:
            return found
        of_pools = [
            _reading(name, scope_of(pool, self._pools.pools), setting)
            for pool in self._pools.pools
            if (setting := own_value(self._pools, pool, knob))
        ]
        # One pool that sets it for itself leaves nothing for the server's own value.
        return of_pools if len(self._pools.pools) == 1 and of_pools else [*found, *of_pools]

    def _is_there(self, knob: PhpKnob) -> bool:
        has_version = self._version == (0, 0) or self._version >= knob.since
        return has_version and (not knob.is_opcache or "opcache" in self.modules())

    def _ini_reading(self, name: str, default: str | None) -> Reading:
        setting = self._ini.last(name)
        if setting:
            return _reading(name, "", setting)
        return Reading(name=name, scope="", text=default or "")

    def _jit(self) -> Reading:
        kind, buffer = self._ini.last(JIT), self._ini.last(JIT_BUFFER)
        # Since 8.4 the buffer has 64M, and the compiler is what is off.
        is_new = self._version >= (8, 4)
        kind_text = kind.entry.text if kind else ("disable" if is_new else "tracing")
        buffer_text = buffer.entry.text if buffer else ("64M" if is_new else "0")
        origin = kind or buffer
        return Reading(
            name=JIT,
            scope="",
            text=jit_text(kind_text, buffer_text),
            origin=origin.origin if origin else None,
        )

    def modules(self) -> tuple[str, ...]:
        """Return the extensions that the ini files load, by their names."""
        loads = [s.entry for s in self._ini.settings if s.entry.name.endswith("extension")]
        names = [posixpath.basename(entry.text).removesuffix(".so") for entry in loads]
        # Since 8.5 it is part of PHP.
        built_in = ["opcache"] if self._version >= (8, 5) else []
        return tuple(dict.fromkeys([*names, *built_in]))

    def listeners(self, prefix: str) -> list[Listener]:
        found = []
        for pool in self._pools.pools:
            setting = self._pools.last(pool, "listen")
            if setting is None:
                raise AdapterError(f"the pool `{pool}` has no `listen`")
            address = listen_address(with_pool(setting.entry.text, pool), prefix)
            found.append(Listener(address=address, origin=setting.origin))
        return found

    def logs(self) -> list[LogPlace]:
        found = []
        for pool in self._pools.pools:
            log, form = (self._pools.last(pool, f"access.{name}") for name in ("log", "format"))
            if log:
                found.append(
                    LogPlace(
                        path=with_pool(log.entry.text, pool),
                        log_format=form.entry.text if form else '%R - %u %t "%m %r" %s',
                        scope=scope_of(pool, self._pools.pools),
                        origin=log.origin,
                    )
                )
        return found

    def folders_written(self) -> list[str]:
        paths = [self._pools.last(GLOBAL, name) for name in ("pid", "error_log")]
        texts = [s.entry.text for s in paths if s]
        for pool in self._pools.pools:
            named = [self._pools.last(pool, name) for name in _LOGS]
            texts += [with_pool(s.entry.text, pool) for s in named if s]
            sessions = self._pools.php_value(pool, "session.save_path")
            texts += [f"{sessions.entry.text}/"] if sessions else []
        own = self._ini.last("session.save_path")
        # Debian's PHP has a place of its own compiled in; others write below /tmp.
        compiled = _DEBIAN_SESSIONS if self._ini.main.startswith("/etc/php/") else ""
        texts.append(f"{own.entry.text if own else compiled}/")
        # `N;MODE;/path` is a path, too.
        folders = {posixpath.dirname(text.rpartition(";")[2]) for text in texts}
        return sorted(each for each in folders if each.startswith("/") and each != "/")

    def notices(self) -> list[Notice]:
        found = [
            Notice(why=because("php_fpm.nothing_included", pattern=pattern), origin=origin)
            for pattern, origin in self._pools.unmatched
        ]
        for knob in KNOBS.values():
            if knob.place == "ini":
                found += self._untrue_values(knob)
        if "opcache" not in self.modules():
            found.append(Notice(why=because("php_fpm.no_opcache")))
        return found

    def _untrue_values(self, knob: PhpKnob) -> list[Notice]:
        name = knob.info.name
        return [
            Notice(
                why=because("php_fpm.untrue_value", kind=setting.entry.name, name=name),
                origin=setting.origin,
            )
            for pool in self._pools.pools
            if (setting := self._pools.php_value(pool, name))
            and own_value(self._pools, pool, knob) is None
            and not is_same(name, setting.entry.text, self._server_text(name))
        ]

    def _server_text(self, name: str) -> str:
        return (
            self._jit().text if name == JIT else self._ini_reading(name, KNOBS[name].compiled).text
        )


def with_pool(text: str, pool: str) -> str:
    """Return a value with its `$pool` put in."""
    return text.replace("$pool", pool)


def own_value(pools: PoolConfiguration, pool: str, knob: PhpKnob) -> Setting | None:
    """Return the setting by which a pool has an ini value of its own; None where none counts."""
    setting = pools.php_value(pool, knob.info.name)
    if setting is None or not knob.is_per_pool:
        return None
    # A pool can do without OPcache; with it where the server has none it cannot.
    is_on = truth(setting.entry.text) is not False
    return None if knob.info.name == "opcache.enable" and is_on else setting


def _reading(name: str, scope: str, setting: Setting) -> Reading:
    return Reading(name=name, scope=scope, text=setting.entry.text, origin=setting.origin)
