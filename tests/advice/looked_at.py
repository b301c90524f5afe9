"""Sites as adapters offer them to the rules: surveyed from text, nothing is run."""

from dataclasses import dataclass, field

from tests.servers.apache import sample as apache
from tests.servers.nginx.layouts import LAYOUTS
from tests.servers.php_fpm import sample as php_fpm

from httpdyno.advice.knob import rules
from httpdyno.advice.proposal import KnobProposal, Offered, Shape
from httpdyno.model import Member, Survey
from httpdyno.servers.apache import Apache
from httpdyno.servers.apache.knob import OWN_KNOBS as APACHE
from httpdyno.servers.gunicorn import Gunicorn
from httpdyno.servers.gunicorn.knob import KNOBS as GUNICORN
from httpdyno.servers.nginx.catalogue import TUNABLES, knobs
from httpdyno.servers.nginx.conf import build_of, conf_of
from httpdyno.servers.nginx.survey import survey_of
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.php_fpm.knob import KNOBS as PHP_FPM
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.uvicorn import Uvicorn
from httpdyno.servers.uvicorn.knob import KNOBS as UVICORN

CATALOGUES = {
    "apache": frozenset(APACHE),
    "gunicorn": frozenset({*GUNICORN, *UVICORN}),
    "nginx": frozenset(TUNABLES),
    "php-fpm": frozenset(PHP_FPM),
    "uvicorn": frozenset({*GUNICORN, *UVICORN}),
}
"""Kind → the knobs that its rules may name; gunicorn and uvicorn have theirs in common."""
USUAL = Shape(n_cpus=4, connections=64)
_BUILD = build_of("nginx version: nginx/1.22.1", ("--with-threads",))


@dataclass(frozen=True, kw_only=True)
class Recorded(Offered):
    """Notes the knobs that rules ask for."""

    names: set[str] = field(default_factory=set)

    def found(self, name):
        self.names.add(name)
        return Offered.found(self, name)

    def named(self, name):
        self.names.add(name)
        return Offered.named(self, name)


def nginx(texts, shape=USUAL, **others):
    survey = survey_of(conf_of(texts, _BUILD, is_root=True))
    return Recorded(
        kind="nginx", survey=survey, knobs=knobs(survey), shape=shape, others=dict(others)
    )


def nginx_text(http="", main="", server="", shape=USUAL, others=None):
    """Return one server of nginx with these directives."""
    text = (
        f"{main}\nevents {{}}\nhttp {{ {http}\nserver {{ listen 80; {server} }} }}\n"
        if "events" not in main
        else f"{main}\nhttp {{ {http}\nserver {{ listen 80; {server} }} }}\n"
    )
    return nginx({"/etc/nginx/nginx.conf": text.encode()}, shape, **(others or {}))


def php(changed=None, shape=USUAL):
    survey = php_fpm.surveyed(php_fpm.files(changed))
    return Recorded(kind="php-fpm", survey=survey, knobs=PhpFpm().knobs(survey), shape=shape)


def pool(*lines, shape=USUAL):
    """Return Debian's pool with further lines, the last of each counts."""
    return php({php_fpm.POOL: php_fpm.POOL_TEXT + "\n".join([*lines, ""])}, shape)


def httpd(text, others=None, shape=USUAL):
    survey = apache.surveyed(apache.files(text, others))
    return Recorded(kind="apache", survey=survey, knobs=Apache().knobs(survey), shape=shape)


def gunicorn(*flags, shape=USUAL):
    command = ("/srv/venv/bin/gunicorn", "shop.wsgi", *flags)
    member = Member(name="shop", kind="gunicorn", command=command, folder="/srv/none")
    survey = Gunicorn().survey(member, MemberFiles(texts={}), None)
    assert isinstance(survey, Survey)
    return Recorded(kind="gunicorn", survey=survey, knobs=Gunicorn().knobs(survey), shape=shape)


def uvicorn(*flags, shape=USUAL):
    command = ("/srv/venv/bin/uvicorn", "shop:app", *flags)
    member = Member(name="shop", kind="uvicorn", command=command, folder="/srv/none")
    survey = Uvicorn().survey(member, MemberFiles(texts={}), None)
    assert isinstance(survey, Survey)
    return Recorded(kind="uvicorn", survey=survey, knobs=Uvicorn().knobs(survey), shape=shape)


def layouts(shape=USUAL):
    """Return all layouts of nginx that are kept for tests: name → what the rules look at."""
    return {layout.name: nginx(layout.texts(), shape) for layout in LAYOUTS}


def proposed(offered: Offered) -> dict[str, KnobProposal]:
    """Return what all rules propose; where two do, the likelier."""
    found: dict[str, KnobProposal] = {}
    for rule in rules(offered.kind):
        for each in rule(offered):
            if each.name not in found or found[each.name].prior < each.prior:
                found[each.name] = each
    return found
