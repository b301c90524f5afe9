"""Files of a php-fpm as distributions have them, and what the adapter makes of them."""

from collections.abc import Mapping

from httpdyno.model import ChangeSet, Level, Member, Survey
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.survey import survey_of_files
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files, unified_diff

FOLDER = "/etc/php/8.2/fpm"
MAIN = f"{FOLDER}/php-fpm.conf"
POOL = f"{FOLDER}/pool.d/www.conf"
PHP_INI = f"{FOLDER}/php.ini"
OPCACHE = f"{FOLDER}/conf.d/10-opcache.ini"
SHARED = "/etc/php/8.2/mods-available/opcache.ini"
MEMBER = Member(name="php", kind="php-fpm", main=MAIN)

MAIN_TEXT = f"""; Main
[global]
pid = /run/php/php8.2-fpm.pid
error_log = /var/log/php8.2-fpm.log

include={FOLDER}/pool.d/*.conf
"""
POOL_TEXT = """[www]
user = www-data
group = www-data
listen = /run/php/php8.2-fpm.sock
listen.owner = www-data
pm = dynamic
; most requests at once
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
;pm.max_requests = 500
"""
INI_TEXT = "[PHP]\nzend.assertions = -1\n[PATH=/srv/x]\nrealpath_cache_ttl = 5\n"
OPCACHE_TEXT = "zend_extension=opcache.so\nopcache.jit=off\n"


def files(changed: dict[str, str] | None = None) -> MemberFiles:
    """Return Debian's files, with some of them changed, added or (with an empty text) left out."""
    texts = {MAIN: MAIN_TEXT, POOL: POOL_TEXT, PHP_INI: INI_TEXT, OPCACHE: OPCACHE_TEXT}
    texts |= changed or {}
    return MemberFiles(
        texts={path: text.encode() for path, text in texts.items() if text},
        real={OPCACHE: SHARED},
    )


def surveyed(found: MemberFiles) -> Survey:
    return survey_of_files(MEMBER, found)


def changed_files(found: MemberFiles, changes: ChangeSet) -> dict[str, bytes]:
    """Return all files, as they are with the changes."""
    added = {path: text.encode() for path, text in changes.added.items()}
    return {**found.texts, **edited_files(found.texts, changes.edits), **added}


def changed_lines(found: MemberFiles, values: Mapping[str, Level]) -> list[str]:
    """Return what a change takes out and puts in, as in a diff."""
    changes = PhpFpm().change_set(surveyed(found), found, values)
    diff = unified_diff(found.texts, changed_files(found, changes))
    return [
        line for line in diff.splitlines() if line[0] in "+-" and line[:3] not in {"+++", "---"}
    ]


def values_in_force(found: MemberFiles, changes: ChangeSet) -> dict[str, object]:
    """Return all knobs of the changed files: name → level in force."""
    after = MemberFiles(texts=changed_files(found, changes), real=found.real)
    return {name: info.default for name, info in PhpFpm().knobs(surveyed(after)).items()}
