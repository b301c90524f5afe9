"""Apache's directives that can be tuned. Source of all: httpd 2.4 and mod_fcgid documentation."""

from msgspec.structs import replace

from httpdyno.model import KnobInfo

_DOCS = "httpd.apache.org/docs/2.4/mod/"
_MPM = f"{_DOCS}mpm_common.html#"
_CORE = f"{_DOCS}core.html#"
_PREFORK = f"{_DOCS}prefork.html#"
_FCGID = "httpd.apache.org/mod_fcgid/mod/mod_fcgid.html#"

_DECLARED = (
    KnobInfo(
        name="MaxRequestWorkers",
        summary="most processes that answer requests at once (formerly MaxClients)",
        kind="integer",
        default=256,
        minimum=1,
        maximum=20_000,
        source=_MPM,
        pool="workers",
    ),
    KnobInfo(
        name="ServerLimit",
        summary="upper bound of MaxRequestWorkers; written large enough where it is no knob",
        kind="integer",
        default=256,
        minimum=1,
        maximum=20_000,
        source=_MPM,
    ),
    KnobInfo(
        name="StartServers",
        summary="processes started at first",
        kind="integer",
        default=5,
        minimum=1,
        maximum=20_000,
        source=_MPM,
        changes_at_rest=True,
    ),
    KnobInfo(
        name="MinSpareServers",
        summary="fewer idle processes than this, and more are forked",
        kind="integer",
        default=5,
        minimum=1,
        maximum=20_000,
        source=_PREFORK,
        changes_at_rest=True,
    ),
    KnobInfo(
        name="MaxSpareServers",
        summary="more idle processes than this, and some are ended",
        kind="integer",
        default=10,
        minimum=1,
        maximum=20_000,
        source=_PREFORK,
        changes_at_rest=True,
    ),
    KnobInfo(
        name="MaxConnectionsPerChild",
        summary="connections after which a process is replaced; 0 is never",
        kind="integer",
        default=0,
        unit="connections",
        minimum=0,
        maximum=1_000_000_000,
        source=_MPM,
        changes_at_rest=True,
        pool="connections",
    ),
    KnobInfo(
        name="ListenBacklog",
        summary="connections that may wait in the kernel to be accepted",
        kind="integer",
        default=511,
        minimum=1,
        maximum=65_535,
        source=_MPM,
    ),
    KnobInfo(
        name="KeepAlive",
        summary="let a connection carry more than one request",
        kind="boolean",
        default=True,
        source=_CORE,
    ),
    KnobInfo(
        name="KeepAliveTimeout",
        summary="how long a process waits for the next request on a connection",
        kind="integer",
        default=5,
        unit="s",
        minimum=0,
        maximum=3600,
        source=_CORE,
    ),
    KnobInfo(
        name="MaxKeepAliveRequests",
        summary="requests that one connection may carry; 0 is no limit",
        kind="integer",
        default=100,
        minimum=0,
        maximum=1_000_000_000,
        source=_CORE,
    ),
    KnobInfo(
        name="Timeout",
        summary="how long to wait for the network",
        kind="integer",
        default=60,
        unit="s",
        minimum=1,
        maximum=86_400,
        source=_CORE,
    ),
    KnobInfo(
        name="EnableSendfile",
        summary="send files by the kernel's sendfile",
        kind="boolean",
        default=False,
        source=_CORE,
    ),
    KnobInfo(
        name="EnableMMAP",
        summary="map files into memory to send them",
        kind="boolean",
        default=True,
        source=_CORE,
    ),
    KnobInfo(
        name="HostnameLookups",
        summary="ask the name service for each client's name",
        kind="choice",
        default="Off",
        choices=("Off", "On", "Double"),
        source=_CORE,
    ),
    KnobInfo(
        name="ExtendedStatus",
        summary="keep track of each request for mod_status",
        kind="boolean",
        default=False,
        source=_CORE,
    ),
    KnobInfo(
        name="ContentDigest",
        summary="send a Content-MD5 header with files",
        kind="boolean",
        default=False,
        source=_CORE,
    ),
    KnobInfo(
        name="LogLevel",
        summary="how much goes to the error log",
        kind="choice",
        default="warn",
        choices=("emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"),
        source=_CORE,
    ),
    KnobInfo(
        name="FcgidMaxProcesses",
        summary="most processes of FastCGI programs under mod_fcgid, of all programs together",
        kind="integer",
        default=1000,
        minimum=1,
        maximum=20_000,
        source=_FCGID,
        pool="workers",
    ),
    KnobInfo(
        name="FcgidMaxRequestsPerProcess",
        summary="requests after which mod_fcgid replaces a process; 0 is never",
        kind="integer",
        default=0,
        unit="requests",
        minimum=0,
        maximum=1_000_000_000,
        source=_FCGID,
        pool="requests",
    ),
)

MPM = KnobInfo(
    name="mpm",
    summary="the multi-processing module: processes (prefork), or threads in processes",
    kind="choice",
    default="prefork",
    choices=("prefork", "worker", "event"),
    source="httpd.apache.org/docs/2.4/mpm.html",
)
"""No directive: which module is loaded. Where it is no knob, it is a setting of the study."""

KNOBS = {knob.name: replace(knob, source=knob.source + knob.name.lower()) for knob in _DECLARED}
