"""Servers as text, told as `inspect` would know them, and what rules say of them."""

from typing import Any, NamedTuple

from msgspec import structs
from tests.words import joined, words

from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import Proposed, Severity, findings_of
from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Member, Survey
from httpdyno.report.inspect.facts import NOTHING_KNOWN, facts_of
from httpdyno.servers.apache import Apache
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.gunicorn import Gunicorn
from httpdyno.servers.nginx.conf import build_of, conf_of
from httpdyno.servers.nginx.survey import survey_of
from httpdyno.servers.php_fpm.survey import survey_of_files
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.uvicorn import Uvicorn

APACHE = "/etc/apache2/apache2.conf"
NGINX = "/etc/nginx/nginx.conf"
FPM = "/etc/php/8.2/fpm/php-fpm.conf"
PHP_INI = "/etc/php/8.2/fpm/php.ini"
OPCACHE = "/etc/php/8.2/fpm/conf.d/10-opcache.ini"
GUNICORN = "/srv/shop/gunicorn.conf.py"


def apache(text: str, *modules: str, mpm: str = "prefork", **known: Any) -> Facts:
    """Return an Apache whose configuration is that text, behind its modules, on lines of its own.

    Args:
        text: Of its main file; its first line is line 1.
        modules: Without `_module`.
        mpm: The module that runs its processes.
        known: Fields of the facts.
    """
    loads = [f"LoadModule {name}_module m/mod_{name}.so" for name in (f"mpm_{mpm}", *modules)]
    member = Member(name="apache", kind="apache", main=APACHE)
    end = "\n" + "\n".join(loads) + "\n"
    files = MemberFiles(texts={APACHE: (text.strip() + end).encode()})
    survey = Apache().survey(member, files, None)
    assert isinstance(survey, Survey)
    return _facts(member, survey, **known)


def nginx(text: str, *build: str, **known: Any) -> Facts:
    """Return an nginx whose configuration is that text; without `http`, what stands in there.

    Args:
        text: Of its only file.
        build: Options that it was compiled with.
        known: Fields of the facts.
    """
    if "http {" not in text:
        text = f"events {{}}\nhttp {{\n{text}\n}}"
    options = ("--http-log-path=/var/log/nginx/access.log", *build)
    survey = survey_of(
        conf_of({NGINX: text.encode()}, build_of("nginx version: nginx/1.22.1", options))
    )
    return _facts(Member(name="nginx", kind="nginx", main=NGINX), survey, **known)


def php_fpm(own: str, ini: str = "", **known: Any) -> Facts:
    """Return a php-fpm with a pool `www` that has those settings, those of php.ini, and OPcache."""
    texts = {
        FPM: f"[www]\nlisten = /run/php.sock\npm.max_children = 5\n{own}\n",
        PHP_INI: f"{ini}\n",
        OPCACHE: "zend_extension=opcache\n",
    }
    files = MemberFiles(texts={path: text.encode() for path, text in texts.items()})
    member = Member(name="php", kind="php-fpm", main=FPM)
    return _facts(member, survey_of_files(member, files), **known)


def gunicorn(config: str, *arguments: str, **known: Any) -> Facts:
    """Return a gunicorn with that configuration file and those arguments."""
    command = ("/srv/shop/venv/bin/gunicorn", "-c", GUNICORN, *arguments, "shop.wsgi")
    member = Member(name="shop", kind="gunicorn", command=command, folder="/srv/shop")
    files = MemberFiles(texts={GUNICORN: config.encode()})
    survey = Gunicorn().survey(member, files, None)
    assert isinstance(survey, Survey)
    return _facts(member, survey, **known)


def uvicorn(*arguments: str, **known: Any) -> Facts:
    """Return a uvicorn with those arguments."""
    member = Member(name="api", kind="uvicorn", command=("uvicorn", "api:app", *arguments))
    survey = Uvicorn().survey(member, MemberFiles(texts={}), None)
    assert isinstance(survey, Survey)
    return _facts(member, survey, **known)


def _facts(member: Member, survey: Survey, **known: Any) -> Facts:
    """Return what `inspect` makes of a server that does not run, and more."""
    facts = facts_of(Inspected(found=Found(member=member), survey=survey), None, NOTHING_KNOWN)
    assert facts is not None
    return structs.replace(facts, **known)


class Told(NamedTuple):
    """A finding in words."""

    name: str
    severity: Severity
    what: str
    evidence: str
    do: str
    proposes: tuple[Proposed, ...]


def findings(facts: Facts) -> list[Told]:
    """Return what the rules find, as `inspect` shows it."""
    rules = {each.name: each for each in all_rules()}
    return [
        Told(
            name=each.name,
            severity=each.severity,
            what=words(each.what),
            evidence=joined(each.evidence),
            do=words(each.do) or rules[each.name].fix,
            proposes=each.proposes,
        )
        for each in findings_of(facts, rules.values())
    ]


def said(facts: Facts) -> list[tuple[str, str, str]]:
    """Return name, severity and words of all findings."""
    return [(each.name, each.severity, each.what) for each in findings(facts)]


def named(facts: Facts, name: str) -> list[str]:
    """Return the words of a rule's findings."""
    return [what for found, _, what in said(facts) if found == name]


def evidence(facts: Facts, name: str) -> str:
    """Return where a rule saw it."""
    return next(each.evidence for each in findings(facts) if each.name == name)
