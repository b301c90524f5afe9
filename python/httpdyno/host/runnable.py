"""The door: whatever program was found is run through it, where no private copy holds it.

A file is the word of all who may write it, or put another one where its path leads. So it is run as
nobody who is more than they: as root where all of them are root; where one other user is among them
as him, with no new privileges; else not at all. What was looked at is what runs, by its descriptor.
A script runs by its path, since many look for what is beside them; who could put another one there
is whom it is run as. It is also its interpreter's word, and a Python also that of its libraries. An
ordinary user runs all as himself, and nothing that yet another one may write.

Who may write to a folder on the way may put another file in place of the one that was looked at,
unless it is sticky, and who owns a link may lead it elsewhere. So the way is walked a name at a
time (`foreign_files.py`), and what is found at its end is held open: nothing that happens
afterwards makes another file of it.

Source: access of groups, others and lists is that of acl(5); of sticky folders, inode(7).
"""

import errno
import grp
import os
import platform
import pwd
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Walk, read_regular, split_root
from httpdyno.host.foreign_text import reason
from httpdyno.host.only_read import check_may_start
from httpdyno.host.rights import is_root_of_the_machine

ANYBODY = -1
"""Stands among writers for all users, and for those of a group that nobody can list."""

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 64
_ACL = "system.posix_acl_access"
_ACL_USER, _ACL_OWNING_GROUP, _ACL_GROUP, _ACL_MASK = 0x02, 0x04, 0x08, 0x10
_MAY_WRITE = 2
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_NO_ACL = (errno.ENODATA, errno.EOPNOTSUPP)
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_NOWHERE = (*_NOT_THERE, errno.ELOOP, errno.EACCES)
_NAME_SERVICES = Path("/etc/nsswitch.conf")
_LISTED_WHOLE = frozenset({"files", "compat", "systemd"})
"""Where names come from that can all be listed. Others, such as `sss`, only answer for one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldFile:
    """What stands at the end of a path, held open."""

    handle: int
    """An `O_PATH` descriptor of it."""
    info: os.stat_result
    writers: Mapping[int, str]
    """User → what on the way is his to change, the first of it; root is among them like others."""


@contextmanager
def held(path: str) -> Iterator[HeldFile]:
    """Walk to what stands at a path, following each link by hand.

    Raises:
        OSError: It is not there, or may not be looked at.
    """
    with _Way(path) as way:
        way.go()
        yield HeldFile(handle=way.handle, info=way.info(), writers=way.writers)


def writers_at(path: str) -> dict[int, str]:
    """Return who may write what stands at a path, as `Held.writers`, or put it there.

    A folder is what is found in it: who may add files to it counts, though it be sticky.

    Raises:
        OSError: It may not be looked at.
    """
    with _Way(path) as way:
        way.go(_NOT_THERE)
        return way.word()


def writers_below(folders: Iterable[str], *, most: int) -> dict[int, str]:
    """Return who may write some folders, what leads to them, or anything below; as `Held.writers`.

    Raises:
        OSError: One cannot be looked through, or they hold more than so many files; with its path.
    """
    scan = _Scan(list(folders), most)
    while scan.waiting:
        path = scan.waiting.pop()
        with _Way(path) as way:
            # Where it leads nowhere, or nowhere for this user, nothing is read by him either.
            is_there = way.go(_NOWHERE)
            _add(scan.found, way.word())
            info = way.info()
            if is_there and stat.S_ISDIR(info.st_mode):
                scan.folder(".", way.handle, path, info.st_uid)
    return scan.found


class _Scan:
    """A look through folders under way."""

    def __init__(self, waiting: list[str], most: int) -> None:
        self.waiting = waiting
        """Folders and links that are to be walked to yet."""
        self.found: dict[int, str] = {}
        self._seen: set[tuple[int, int]] = set()
        self._most = self._left = most

    def folder(self, name: str, above: int, path: str, owner: int, depth: int = 0) -> None:
        """Look through a folder and all below it.

        Raises:
            OSError: It cannot be opened, is too deep, or holds too much.
        """
        if depth > _DEEPEST:
            raise OSError(
                errno.ENAMETOOLONG,
                f"more than {_DEEPEST} folders are inside each other there",
                path,
            )
        try:
            handle = os.open(name, _LIST, dir_fd=above)
        except PermissionError as error:
            # What this user cannot read he cannot import, until its owner lets him.
            if owner in {0, os.geteuid()}:
                return
            raise PermissionError(error.errno, error.strerror, path) from error
        try:
            info = os.fstat(handle)
            if (info.st_dev, info.st_ino) in self._seen:
                return
            self._seen.add((info.st_dev, info.st_ino))
            with os.scandir(handle) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        raise OSError(
                            errno.EFBIG,
                            f"more than {self._most:,} files are there and in what is beside it",
                            path,
                        )
                    self._entry(entry, handle, f"{path}/{entry.name}", depth)
        finally:
            os.close(handle)

    def _entry(self, entry: "os.DirEntry[str]", handle: int, path: str, depth: int) -> None:
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            self.waiting.append(path)
            return
        if info.st_uid not in self.found or info.st_mode & _OTHERS:
            acl = _acl(f"/proc/self/fd/{handle}/{entry.name}", info)
            _add(self.found, dict.fromkeys(_writers(info, acl), path))
        if stat.S_ISDIR(info.st_mode):
            self.folder(entry.name, handle, path, info.st_uid, depth + 1)


class _Way:
    """Whose a way is, to where it has come; its last descriptor holds what is there."""

    def __init__(self, path: str) -> None:
        root, rest = split_root(path)
        self.writers: dict[int, str] = {}
        self._path = path
        self._names: list[str | int] = [*reversed(rest.split("/"))]
        self._root = "" if root == "/" else root
        self._walk = Walk(root, note=self._note)

    def __enter__(self) -> "_Way":
        return self

    def __exit__(self, *_: object) -> None:
        self._walk.__exit__()

    @property
    def handle(self) -> int:
        return self._walk.handles[-1]

    def info(self) -> os.stat_result:
        return os.fstat(self.handle)

    def go(self, until: Sequence[int] = ()) -> bool:
        """Go along it until one of these errors; return whether there was none.

        Raises:
            OSError: Of another number.
        """
        try:
            self._note(self.info())  # the root
            self._walk.lead(self._names)
        except OSError as error:
            if error.errno in until:
                return False
            error.filename = self._path  # not only the name of what was opened last
            raise
        return True

    def word(self) -> dict[int, str]:
        """Return the writers with those who may add files where it has come."""
        info = self.info()
        adders = _may_write(self.handle, info) if stat.S_ISDIR(info.st_mode) else ()
        return {**dict.fromkeys(adders, self._here()), **self.writers}

    def _here(self) -> str:
        return f"{self._root}/{'/'.join(self._walk.names)}"

    def _note(self, info: os.stat_result) -> None:
        is_folder = stat.S_ISDIR(info.st_mode)
        if stat.S_ISLNK(info.st_mode) or (is_folder and info.st_mode & stat.S_ISVTX):
            # What is in a sticky one is its owner's: others add to it, and change what is theirs.
            found = {info.st_uid}
        else:
            found = _may_write(self.handle, info)
        if not is_folder and info.st_nlink > 1:
            # Who may add files may have put another's there, by another name of it.
            above = self._walk.handles[-2]
            found |= _may_write(above, os.fstat(above))
        _add(self.writers, dict.fromkeys(found, self._here()))


def _add(to: dict[int, str], found: Mapping[int, str]) -> None:
    for user, where in found.items():
        to.setdefault(user, where)


def _may_write(handle: int, info: os.stat_result) -> set[int]:
    """Return who may write a file that is held, or add files to a folder."""
    return _writers(info, _acl(f"/proc/self/fd/{handle}", info))


def _writers(info: os.stat_result, acl: bytes | None) -> set[int]:
    """Return who may write a file, or add files to a folder."""
    found = {info.st_uid}
    if acl is None:
        if info.st_mode & stat.S_IWGRP:
            found |= _members(info.st_gid)
    else:
        found |= _listed(acl, info.st_gid)
    if info.st_mode & stat.S_IWOTH:
        found.add(ANYBODY)
    return found


def _acl(path: str, info: os.stat_result) -> bytes | None:
    """Return a file's access control list; None where none lets anybody write."""
    if not info.st_mode & stat.S_IWGRP:  # of a file with a list, what the list allows at most
        return None
    try:
        return os.getxattr(path, _ACL)
    except OSError as error:
        if error.errno in _NO_ACL:
            return None
        raise


def _listed(acl: bytes, owning_group: int) -> set[int]:
    """Return whom a list lets write besides the owner and others."""
    # Source: linux/posix_acl_xattr.h; a version of 4 bytes, then tag, rights and id of each.
    entries = list(struct.iter_unpack("<HHI", acl[4:]))
    mask = next((rights for tag, rights, _ in entries if tag == _ACL_MASK), _MAY_WRITE)
    found: set[int] = set()
    for tag, rights, number in entries:
        if not rights & mask & _MAY_WRITE:
            continue
        if tag == _ACL_USER:
            found.add(number)
        elif tag in {_ACL_GROUP, _ACL_OWNING_GROUP}:
            found |= _members(number if tag == _ACL_GROUP else owning_group)
    return found


@lru_cache(maxsize=64)
def _members(group: int) -> frozenset[int]:
    """Return a group's users; of one that stands nowhere nobody knows whose it is.

    Where users cannot all be listed, whose it is is known only of a user's own group, of the same
    name, and of root's.
    """
    try:
        found = grp.getgrgid(group)
    except KeyError:
        return frozenset({ANYBODY})
    if group == 0 or _are_all_listed():
        return frozenset(
            each.pw_uid
            for each in pwd.getpwall()
            if each.pw_gid == group or each.pw_name in found.gr_mem
        )
    with suppress(KeyError):
        own = pwd.getpwnam(found.gr_name)
        if own.pw_gid == group and {*found.gr_mem} <= {own.pw_name}:
            return frozenset({own.pw_uid})
    return frozenset({ANYBODY})


def _are_all_listed() -> bool:
    """Return whether this machine's users and groups can be listed: nsswitch.conf(5)."""
    try:
        lines = _NAME_SERVICES.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return True  # as it is where there is none: files alone
    except OSError:
        return False
    for line in lines:
        kind, _, sources = line.partition("#")[0].partition(":")
        names = re.sub(r"\[[^]]*\]", " ", sources).split()
        is_asked = kind.strip() in {"passwd", "group", "initgroups"}
        if is_asked and not _LISTED_WHOLE.issuperset(names):
            return False
    return True


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_SAID_BYTES = 4 << 20
"""As much may be said; who says more is ended."""
_NOT_RUN = 127
_CANNOT = "cannot run: "
_GIVEN = frozenset({"PATH", "LANG", "LC_ALL", "TZ", "PYTHONDONTWRITEBYTECODE"})
"""What of an environment somebody else gets to see."""
_HEAD_BYTES = 4096
_MOST_INTERPRETERS = 4
"""Of each other, as the kernel has it: execve(2)."""
_SHEBANG = re.compile(rb"#![ \t]*(\S+)[ \t]*([^\n]*)")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_LIBRARIES = (
    *("lib/py*/site-packages", "lib/py*/dist-packages"),
    *("lib64/py*/site-packages", "local/lib/py*/dist-packages"),
)
_HAS_OTHERS = re.compile(rb"^include-system-site-packages\s*=\s*true", re.M | re.I)
"""In `pyvenv.cfg`."""
_MOST_FILES = 200_000
_NOBODY = 65534
_JOIN_KEYRING = {"x86_64": 250, "aarch64": 219}
"""`keyctl`, by which the child lets go of the keys of this session: keyctl(2)."""

_PROGRAM = f"""
import ctypes, os, resource, sys
parent, handle, is_script, keyctl, owner, *command = sys.argv[1:]
libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, ({_SAID_BYTES}, {_SAID_BYTES}))
try:
    if owner:
        user, group, *groups = map(int, owner.split(","))
        if int(keyctl):
            libc.syscall(int(keyctl), 1, None)
        os.setgroups(groups)
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    if libc.prctl(38, 1, 0, 0, 0) != 0:
        raise OSError("new privileges cannot be forbidden")
    libc.prctl(1, 9, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit({_NOT_RUN})
    os.set_inheritable(int(handle), False)
    os.execve(command[0] if int(is_script) else int(handle), command, os.environ)
except OSError as error:
    os.write(2, f"{_CANNOT}{{error.strerror or error}}".encode())
os._exit({_NOT_RUN})
"""
"""`PR_SET_NO_NEW_PRIVS`, `PR_SET_PDEATHSIG`. It is between this process and the program, because
nothing of it may run in a copy of an interpreter with threads."""


class NotOursError(AdapterError):
    """A file is not run: it is the word of somebody who has fewer rights, or of who knows whom."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramOutput:
    """What a program answered."""

    exit_code: int
    """Negative for a signal."""
    output: str
    errors: str


def said_by(  # noqa: PLR0913 - what there is to say of a program
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: str = "/",
    timeout_s: float = 10.0,
    given: bytes = b"",
    at_most: str = "",
) -> ProgramOutput:
    """Run a program to its end as whom it may be run as, and return what it said.

    Args:
        command: Program and arguments; a name alone is looked for in the environment's `PATH`.
        environment: Of this process's own making, never of somebody's whose program it is.
        folder: Where it runs.
        timeout_s: It has this long.
        given: What it reads.
        at_most: Whose process it was found by: nobody more than that user runs it.

    Raises:
        NotOursError: Others than the one who would run it may write it, or it cannot be said who.
        NotRunError: A study is only read.
        AdapterError: It cannot be run, or did not end in time.
    """
    check_may_start(command[0])
    with ExitStack() as stack:
        try:
            # Whole, since it runs in another folder.
            path = str(Path(_found(command[0], environment)).absolute())
            program = stack.enter_context(_opened(path, environment))
        except OSError as error:
            raise AdapterError(f"`{command[0]}` cannot be run: {reason(error)}") from error
        user = whom(command[0], program.writers, at_most=at_most)
        output, errors, read = (stack.enter_context(_memory(name)) for name in ("o", "e", "i"))
        os.pwrite(read, given, 0)
        owner = () if user == os.geteuid() else account(str(user))
        words = [str(os.getpid()), str(program.handle), str(int(program.is_script))]
        words += [str(_JOIN_KEYRING.get(platform.machine(), 0)), ",".join(map(str, owner))]
        try:
            process = subprocess.Popen(  # noqa: S603 - the door
                [sys.executable, "-I", "-S", "-c", _PROGRAM, *words, path, *command[1:]],
                stdin=read,
                stdout=output,
                stderr=errors,
                cwd=folder,
                env={k: v for k, v in environment.items() if k in _GIVEN or not owner},
                pass_fds=(program.handle,),
                start_new_session=True,
            )
        except OSError as error:
            raise AdapterError(f"`{command[0]}` cannot be run: {reason(error)}") from error
        has_ended = _awaited(process, timeout_s)
        said = ProgramOutput(
            exit_code=process.returncode,
            output=os.pread(output, _SAID_BYTES, 0).decode(errors="replace"),
            errors=os.pread(errors, _SAID_BYTES, 0).decode(errors="replace"),
        )
    line = " ".join(command)
    if not has_ended:
        raise AdapterError(f"`{line}` did not end within {timeout_s:g} s")
    if said.exit_code == _NOT_RUN and said.errors.startswith(_CANNOT):
        raise AdapterError(f"`{line}` cannot be run: {said.errors.removeprefix(_CANNOT)}")
    return said


def own_program(name: str, *, further: str = "") -> str:
    """Return the whole path of a program that this process may run as itself, by its path.

    So nobody but root and this user can put another one there meanwhile; a sticky folder such as
    `/tmp` on the way lets nobody else replace what is theirs.

    Args:
        name: It is looked for in this process's `PATH`, where it is no path.
        further: Folders that are looked through then, as `PATH` has them.

    Raises:
        NotOursError: Others may, or it cannot be said who.
        AdapterError: There is none.
    """
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{further}".split(os.pathsep)
    path = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if path is None:
        raise AdapterError(f"`{name}` is not installed, or not in PATH")
    try:
        with _opened(path, os.environ) as program:
            writers = program.writers
    except OSError as error:
        raise AdapterError(f"`{path}` cannot be run: {reason(error)}") from error
    if whom(path, writers) != os.geteuid():
        raise _refused(path, writers, {*writers} - _trusted())
    return path


def whom(path: str, writers: Mapping[int, str], *, at_most: str = "") -> int:
    """Return the user that runs a file which these may write.

    Args:
        path: Of the file, for words.
        writers: User → where he may write, as `Held.writers`.
        at_most: The user whom somebody said it runs as; empty is as root.

    Raises:
        NotOursError: Nobody may.
        AdapterError: There is no such user.
    """
    others = {*writers} - _trusted()
    if not is_root_of_the_machine():
        if others:
            raise _refused(path, writers, others)
        return os.geteuid()
    if at_most and (user := account(at_most)[0]):
        if others - {user}:
            raise _refused(path, writers, others - {user})
        return user
    if ANYBODY in others or len(others) > 1:
        raise _refused(path, writers, others)
    return next(iter(others), os.geteuid())


def writers_of(path: str) -> Mapping[int, str]:
    """Return whose word a program is, with what runs it: user → where he may write.

    Raises:
        NotOursError: That cannot be said.
        OSError: It is not there, is no program, or may not be looked at.
    """
    with _opened(path, {"PATH": PATH}) as program:
        return program.writers


def account(user: str) -> tuple[int, ...]:
    """Return a user's id, its group's and those of its other groups; of a name or a number.

    A number that nobody has a name for is in no group of anybody's.

    Raises:
        AdapterError: There is no such user.
    """
    try:
        found = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except KeyError as error:
        if user.isdecimal():
            return (int(user), _NOBODY)
        raise AdapterError(f"there is no user `{user}` here") from error
    return (found.pw_uid, found.pw_gid, *os.getgrouplist(found.pw_name, found.pw_gid))


def user_name(user: int) -> str:
    """Return a user's name, or the number where it has none."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Opened(HeldFile):
    """A program that is held open; its writers are also those of all that runs with it."""

    is_script: bool


def _found(name: str, environment: Mapping[str, str]) -> str:
    if "/" in name:
        return name
    path = shutil.which(name, path=environment.get("PATH", PATH))
    if path is None:
        raise FileNotFoundError(None, "it is not installed, or not in PATH")
    return path


@contextmanager
def _opened(path: str, environment: Mapping[str, str]) -> Iterator[_Opened]:
    """Open a program, and look at all that runs with it.

    Raises:
        NotOursError: Its libraries cannot be looked through.
        OSError: It is not there, is no program, or what runs it is not there.
    """
    with ExitStack() as stack:
        program = stack.enter_context(held(path))
        writers = dict(program.writers)
        is_script = False
        each, name = program, path
        for depth in range(_MOST_INTERPRETERS + 1):
            if _PYTHON.fullmatch(PurePosixPath(name).name):
                writers = {**_looked_through(name), **writers}
            name = _interpreter(each, name, environment)
            if not name:
                break
            is_script = is_script or depth == 0
            each = stack.enter_context(held(name))
            writers = {**each.writers, **writers}
        yield _Opened(
            handle=program.handle, info=program.info, writers=writers, is_script=is_script
        )


def _interpreter(program: HeldFile, path: str, environment: Mapping[str, str]) -> str:
    """Return the program that runs a script; empty for what runs by itself.

    Raises:
        OSError: It is no regular file, or the interpreter is not there.
    """
    if not stat.S_ISREG(program.info.st_mode):
        raise PermissionError(None, f"`{path}` is no program")
    # Not by its path: this is the file that was looked at.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(f"/proc/self/fd/{program.handle}", flags), "rb") as file:  # noqa: PTH123
            head = _SHEBANG.match(file.read(_HEAD_BYTES))
    except PermissionError:
        return ""  # it may be run and not read, which no script may
    if head is None:
        return ""
    name = os.fsdecode(head[1])
    if PurePosixPath(name).name != "env":
        return name
    words = [w for w in os.fsdecode(head[2]).split() if not w.startswith("-") and "=" not in w]
    return _found(words[0], environment) if words else name


def _looked_through(python: str) -> Mapping[int, str]:
    try:
        return _library_writers(python)
    except OSError as error:
        raise NotOursError(
            f"`{python}` is not run, since who may write its libraries cannot be said: "
            f"`{error.filename}`: {reason(error)}"
        ) from error


@lru_cache(maxsize=16)
def _library_writers(python: str) -> Mapping[int, str]:
    """Return who may write what an interpreter reads as it starts, and all that it can import.

    Looked for once: they are thousands of files, and each start of a copy asks.

    Raises:
        OSError: It cannot be looked through.
    """
    found: dict[int, str] = {}
    # A virtual environment is known by the path; its interpreter stands elsewhere, with libraries
    # of its own.
    here, real = Path(python).absolute().parent.parent, Path(python).resolve().parent.parent
    scanned, config = [here, real], here / "pyvenv.cfg"
    with suppress(FileNotFoundError):
        if not _HAS_OTHERS.search(read_regular(config, limit_bytes=_HEAD_BYTES)):
            scanned = [here]
        with held(str(config)) as each:
            found |= each.writers
    # New names count in these: `pyvenv.cfg`, `sitecustomize.py`.
    for place in (each for home in (here, real) for each in (home, *home.glob("lib/py*"))):
        found = {**writers_at(str(place)), **found}
    folders = (str(path) for home in scanned for form in _LIBRARIES for path in home.glob(form))
    return {**writers_below(folders, most=_MOST_FILES), **found}


@contextmanager
def _memory(name: str) -> Iterator[int]:
    """Give a file without a name: none is left, and nobody has to read while it is written."""
    handle = os.memfd_create(name)
    try:
        yield handle
    finally:
        os.close(handle)


def _awaited(process: "subprocess.Popen[bytes]", timeout_s: float) -> bool:
    """Wait until a process ends, and end all that is left of its session; return whether it did."""
    handle = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        return bool(poller.poll(timeout_s * 1e3))
    finally:
        os.close(handle)
        # It is not reaped yet, so its number is nobody else's.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _trusted() -> set[int]:
    """Return root and this user; in a user namespace root's number is that of all strangers."""
    if is_root_of_the_machine():
        return {0, os.geteuid()}
    return {0, os.geteuid(), Path("/").stat().st_uid}


def _refused(path: str, writers: Mapping[int, str], others: "set[int]") -> NotOursError:
    names = " and ".join("anybody" if u == ANYBODY else user_name(u) for u in sorted(others)[:3])
    where = next(writers[user] for user in sorted(others))
    return NotOursError(
        f"`{path}` is not run: {names} may write `{where}`",
        hint=f"`ls -ld {where}` says who may; leave it to one user, or run httpdyno as one of them",
    )
