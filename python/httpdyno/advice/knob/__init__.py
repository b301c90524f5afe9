"""Rules that propose knobs, a file for each kind of server; a rule is pure."""

from httpdyno.advice.knob import apache, nginx, php_fpm, program, python_server
from httpdyno.advice.proposal import Rule

_RULES: dict[str, tuple[Rule, ...]] = {
    "apache": apache.RULES,
    "command": program.RULES,
    "gunicorn": python_server.RULES,
    "nginx": nginx.RULES,
    "node": program.RULES,
    "php-fpm": php_fpm.RULES,
    "uvicorn": python_server.RULES,
}


def rules(kind: str) -> tuple[Rule, ...]:
    """Return the rules for servers of a kind; none where nobody knows any."""
    return _RULES.get(kind, ())
