"""The smallest change of their files that puts values of knobs in force. Pure.

A value is replaced where it stands and counts. What nothing sets gets a line after the last
setting of its section. An ini setting that nothing sets, or that stands in a file which other
programs read too (Debian links OPcache's into each kind of server), gets a file of its own in the
folder of further ini files: the last one counts.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Edit, Level, Survey, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.php_fpm.configuration import (
    GLOBAL,
    INCLUDE,
    IniConfiguration,
    PoolConfiguration,
    Setting,
    ini_configuration,
    pool_configuration,
)
from httpdyno.servers.php_fpm.knob import (
    JIT,
    JIT_BUFFER,
    KNOBS,
    OFF,
    SPARE,
    SPARE_PARTS,
    PhpKnob,
    PoolValues,
    check,
    is_same,
    jit_parts,
    spare_companion,
    spare_parts,
)
from httpdyno.servers.php_fpm.survey import (
    MAIN,
    PHP_INI,
    PREFIX,
    SCAN_FOLDER,
    own_value,
    place_in,
    pool_names,
    scope_of,
)
from httpdyno.servers.stack.adapter import MemberFiles

OWN_INI = "99-httpdyno.ini"
_LATEST_INI = "zz-httpdyno.ini"
_SWITCHES = (("off", "on"), ("no", "yes"), ("false", "true"))
_TOGETHER = ("pm", "pm.max_children", SPARE)


def change_set(survey: Survey, files: MemberFiles, values: Mapping[str, Level]) -> ChangeSet:
    """Return the edits, new files and notes that put these values in force.

    Args:
        survey: What was found.
        files: As they were found.
        values: `NAME` or `NAME@POOL` → level.

    Raises:
        AdapterError: A value cannot be set here, or contradicts another; says the rule.
    """
    asked = {_knob_and_scope(survey, name, level): level for name, level in values.items()}
    editor = _editor(survey, files)
    for (name, scope), level in asked.items():
        reading = survey.reading(name, scope)
        if reading is None or not is_same(name, reading.text, level_text(level)):
            editor.put(KNOBS[name], scope, level)
    for pool in pool_names(survey):
        editor.put_right(pool, {n: v for (n, s), v in asked.items() if s == editor.scope(pool)})
    return editor.changes()


def _editor(survey: Survey, files: MemberFiles) -> "_Editor":
    prefix = place_in(survey, PREFIX)
    ini_places = [place_in(survey, name) for name in (PHP_INI, SCAN_FOLDER)]
    return _Editor(
        survey,
        files,
        pool_configuration(files.texts, place_in(survey, MAIN), prefix=prefix),
        ini_configuration(files.texts, *ini_places),
    )


def _knob_and_scope(survey: Survey, name: str, level: Level) -> tuple[str, str]:
    bare, _, scope = name.partition("@")
    try:
        check(bare, level)
    except ValueError as error:
        raise AdapterError(f"`{name}` {level_text(level)}: expected {error}") from error
    pools = pool_names(survey)
    known = {"", *pools} if KNOBS[bare].place == "ini" else set(_scopes(KNOBS[bare], pools))
    if scope not in known:
        named = ", ".join(f"`{bare}@{pool}`" for pool in pools) if len(pools) > 1 else f"`{bare}`"
        raise AdapterError(f"`{name}` names no pool of this php-fpm", hint=f"It has {named}.")
    return bare, scope


def _switch(level: bool, found: str) -> str:
    """Return a switch's text, in the words that it was found in."""
    for words in _SWITCHES:
        if found.lower() in {word.lower() for word in words}:
            return words[level]
    return str(int(level))


def _scopes(knob: PhpKnob, pools: tuple[str, ...]) -> tuple[str, ...]:
    return ("",) if knob.place == "global" else tuple(scope_of(pool, pools) for pool in pools)


@dataclass(slots=True)
class _Editor:
    survey: Survey
    files: MemberFiles
    pools: PoolConfiguration
    ini: IniConfiguration
    edits: list[Edit] = field(default_factory=list)
    own_lines: list[str] = field(default_factory=list)
    notes: list[Reason] = field(default_factory=list)

    def scope(self, pool: str) -> str:
        return scope_of(pool, pool_names(self.survey))

    def put(self, knob: PhpKnob, scope: str, level: Level) -> None:
        """Write one knob where it belongs."""
        name, text = knob.info.name, level_text(level)
        if knob.place == "ini":
            self._put_ini(knob, scope, level)
            return
        section = GLOBAL if knob.place == "global" else self._pool(scope)
        parts = spare_parts(text) if name == SPARE else None
        if parts is None:
            self._put_setting(section, name, text)
        else:
            self._put_spare(section, parts)

    def put_right(self, pool: str, asked: Mapping[str, Level]) -> None:
        """Write what php-fpm wants besides what was asked of a pool."""
        found = {n: self.survey.reading(n, self.scope(pool)) for n in _TOGETHER}
        values = PoolValues(
            found={n: reading.text for n, reading in found.items() if reading},
            asked={n: level_text(level) for n, level in asked.items() if n in _TOGETHER},
        )
        if added := spare_companion(values, pool) if values.changed else None:
            parts, note = added
            self._put_spare(pool, parts)
            self.notes.append(note)

    def changes(self) -> ChangeSet:
        added: dict[str, str] = {}
        if self.own_lines:
            path = self._own_ini()
            if path in self.files.texts:
                self._append(path, self.own_lines)
            else:
                added[path] = "\n".join(
                    [f"; written by {__name__.partition('.')[0]}", *self.own_lines, ""]
                )
        return ChangeSet(edits=tuple(self.edits), added=added, notes=tuple(self.notes))

    def _pool(self, scope: str) -> str:
        return scope or pool_names(self.survey)[0]

    def _put_spare(self, pool: str, parts: tuple[int, int, int]) -> None:
        for name, number in zip(SPARE_PARTS, parts, strict=True):
            setting = self.pools.last(pool, name)
            if setting is None or setting.entry.text != str(number):
                self._put_setting(pool, name, str(number))

    def _put_setting(self, section: str, name: str, text: str) -> None:
        setting = self.pools.last(section, name)
        if setting is not None:
            self._replace(setting, text)
        else:
            self._add_line(section, name, text)

    def _replace(self, setting: Setting, text: str) -> None:
        entry = setting.entry
        self.edits.append(Edit(file=setting.file, start=entry.start, end=entry.end, text=text))

    def _add_line(self, section: str, name: str, text: str) -> None:
        settings = [s for s in self.pools.of_section(section) if s.entry.name != INCLUDE]
        if settings:
            last = settings[-1]
            content = self.files.texts[last.file]
            before = content[: last.entry.key_start]
            indent = re.search(rb"[ \t]*\Z", before[before.rfind(b"\n") + 1 :])
            line = f"{indent[0].decode() if indent else ''}{name} = {text}"
            self._insert(last.file, last.entry.line_end, line)
            return
        heads = [head for head in self.pools.heads if head.section == section]
        if heads:
            end = self.files.texts[heads[-1].file].find(b"\n", heads[-1].end)
            at = len(self.files.texts[heads[-1].file]) if end < 0 else end + 1
            self._insert(heads[-1].file, at, f"{name} = {text}")
            return
        # There is no section of that name: it can only be the global one.
        self._insert(place_in(self.survey, MAIN), 0, f"[{section}]", f"{name} = {text}")

    def _insert(self, file: str, at: int, *lines: str) -> None:
        content = self.files.texts[file]
        line_end = "\r\n" if b"\r\n" in content else "\n"
        ends_well = at == 0 or content[at - 1 : at] == b"\n"
        text = "".join(f"{line}{line_end}" for line in lines)
        if not ends_well:
            text = line_end + text.removesuffix(line_end)
        self.edits.append(Edit(file=file, start=at, end=at, text=text))

    def _put_ini(self, knob: PhpKnob, scope: str, level: Level) -> None:
        name = knob.info.name
        if name == JIT:
            self._put_jit(level_text(level))
            return
        text = level_text(level)
        if isinstance(level, bool):
            reading = self.survey.reading(name, scope)
            text = _switch(level, reading.text if reading and reading.origin else "")
        pool = self._pool(scope)
        own = own_value(self.pools, pool, knob)
        if own is not None and (scope or len(pool_names(self.survey)) == 1):
            self._replace(own, text)
            # A pool has no OPcache where the server has none.
            if name != "opcache.enable" or self._is_on_for_all(name):
                return
        elif scope:
            if not knob.is_per_pool or (name == "opcache.enable" and level is True):
                raise AdapterError(f"`{name}` counts for the whole server, not for one pool")
            self._add_line(pool, f"php_admin_value[{name}]", text)
            return
        self._put_server_ini(name, text)

    def _is_on_for_all(self, name: str) -> bool:
        setting = self.ini.last(name)
        return setting is None or is_same(name, setting.entry.text, "1")

    def _put_jit(self, text: str) -> None:
        kind, n_bytes = jit_parts(text) or (OFF, 0)
        if kind != OFF:
            buffer = text.partition("/")[2]
            setting = self.ini.last(JIT_BUFFER)
            if setting is None or jit_parts(f"on/{setting.entry.text}") != ("tracing", n_bytes):
                self._put_server_ini(JIT_BUFFER, buffer)
        setting = self.ini.last(JIT)
        if setting is None or setting.entry.text.lower() != kind:
            self._put_server_ini(JIT, kind)

    def _put_server_ini(self, name: str, text: str) -> None:
        setting = self.ini.last(name)
        if setting is not None and not self._is_shared(setting.file):
            self._replace(setting, text)
            return
        if setting is not None:
            self.notes.append(
                because(
                    "php_fpm.written_elsewhere",
                    file=setting.file,
                    real=self.files.real[setting.file],
                    name=name,
                    own=self._own_ini(),
                )
            )
        self.own_lines.append(f"{name}={text}")

    def _is_shared(self, file: str) -> bool:
        """Whether a file is a link that leads out of the server's own folder."""
        main = place_in(self.survey, MAIN)
        own = posixpath.dirname(self.files.real.get(main, main))
        return not self.files.real.get(file, f"{own}/").startswith(f"{own}/")

    def _own_ini(self) -> str:
        ini = self.ini
        if not ini.folder:
            raise AdapterError("there is no folder of ini files in which a setting could be added")
        latest = posixpath.basename(ini.files[-1]) if ini.files else ""
        name = OWN_INI if latest <= OWN_INI else _LATEST_INI
        if latest > name:
            raise AdapterError(f"`{ini.files[-1]}` comes after any file that could be added")
        return posixpath.join(ini.folder, name)

    def _append(self, file: str, lines: list[str]) -> None:
        self._insert(file, len(self.files.texts[file]), *lines)
