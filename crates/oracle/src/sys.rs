//! The system calls that `std` does not offer: the only unsafe code of this crate.
#![allow(unsafe_code, reason = "raw system calls; every other module is safe")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A second in nanoseconds.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

const EDGES: u32 =
    (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET).cast_unsigned();

/// Something that epoll reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer closed its side, or the connection broke.
    pub(crate) hung_up: bool,
}

/// An epoll instance and room for what it reports.
pub(crate) struct Epoll {
    fd: OwnedFd,
    raw: Vec<libc::epoll_event>,
}

impl Epoll {
    pub(crate) fn new(capacity: usize) -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: epoll_create1 just returned this descriptor and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, raw: vec![libc::epoll_event { events: 0, u64: 0 }; capacity] })
    }

    /// Report input on `fd` for as long as there is some.
    pub(crate) fn watch_level(&self, fd: RawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN as u32, token)
    }

    /// Report each change of `fd`, in both directions, once.
    pub(crate) fn watch_edges(&self, fd: RawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, EDGES, token)
    }

    /// Report what is the case with `fd` once more, though nothing has changed.
    pub(crate) fn watch_edges_again(&self, fd: RawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, EDGES, token)
    }

    pub(crate) fn forget(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, operation: i32, fd: RawFd, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` lives across the call, and the kernel copies it.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, &raw mut event) })?;
        Ok(())
    }

    /// Wait for events, at most `timeout_ns` (`None`: for ever), and append them to `into`.
    pub(crate) fn wait(
        &mut self,
        timeout_ns: Option<u64>,
        into: &mut Vec<Event>,
    ) -> io::Result<()> {
        let timeout = timeout_ns.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // The libc wrapper needs a newer glibc than the kernel interface does.
        // SAFETY: `raw` holds as many events as told, `timeout` is null or lives across the call.
        let got = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.raw.as_mut_ptr(),
                self.raw.len(),
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        let got = match check(got as i32) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other? as usize,
        };
        into.extend(self.raw[..got].iter().map(|event| {
            let bits = event.events.cast_signed();
            Event {
                token: event.u64,
                readable: bits & libc::EPOLLIN != 0,
                writable: bits & libc::EPOLLOUT != 0,
                hung_up: bits & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0,
            }
        }));
        Ok(())
    }
}

/// A way for other threads to wake the server's.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: eventfd just returned this descriptor and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(crate) fn wake(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes are read from `one`. A full counter is awake enough.
        unsafe { libc::write(self.fd(), (&raw const one).cast(), 8) };
    }

    pub(crate) fn drain(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to `count`. Empty is as good as drained.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }

    /// Wait until somebody wakes, or `timeout_ns` have passed.
    pub(crate) fn wait(&self, timeout_ns: u64) {
        let mut poll = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        let timeout = timespec(timeout_ns);
        // SAFETY: one pollfd and one timespec, both live across the call. An interrupted wait is
        // a short one, and the caller looks at the clock.
        unsafe { libc::ppoll(&raw mut poll, 1, &raw const timeout, std::ptr::null()) };
    }
}

/// Return `CLOCK_MONOTONIC` in nanoseconds, the same clock in every process of this machine.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// Accept a connection, nonblocking; an error of `WouldBlock` when none waits.
pub(crate) fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let nobody = std::ptr::null_mut();
    // SAFETY: the kernel writes no address where there is no room for one.
    let fd = unsafe { libc::accept4(listener.as_raw_fd(), nobody, std::ptr::null_mut(), flags) };
    // SAFETY: accept4 just returned this descriptor, checked, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(check(fd)?) })
}

/// Let the close of this socket be RST instead of FIN.
///
/// A Unix socket has no RST: its close is a close.
pub(crate) fn reset_on_close(socket: BorrowedFd<'_>) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // If the kernel refuses, the close is still a close.
    let _ = set_option(socket, (libc::SOL_SOCKET, libc::SO_LINGER), &linger);
}

/// Send small pieces at once; what a listener is told, its connections do.
pub(crate) fn set_nodelay(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, (libc::IPPROTO_TCP, libc::TCP_NODELAY), &1_i32)
}

/// Size the buffer of what is sent; the kernel doubles it, and has its own least and most.
pub(crate) fn set_send_buffer(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_option(socket, (libc::SOL_SOCKET, libc::SO_SNDBUF), &bytes)
}

/// Size the buffer of what is received; the kernel doubles it, and has its own least and most.
pub(crate) fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_option(socket, (libc::SOL_SOCKET, libc::SO_RCVBUF), &bytes)
}

/// Set an option, by level and name, to a value of the C type that it takes.
fn set_option<T>(socket: BorrowedFd<'_>, option: (i32, i32), value: &T) -> io::Result<()> {
    let value = std::ptr::from_ref(value).cast();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives across the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), option.0, option.1, value, length) })?;
    Ok(())
}

/// Change how many connections may wait to be accepted.
pub(crate) fn set_backlog(listener: BorrowedFd<'_>, backlog: i32) -> io::Result<()> {
    // SAFETY: no pointers; listening again only changes the backlog.
    check(unsafe { libc::listen(listener.as_raw_fd(), backlog) })?;
    Ok(())
}

/// Let this thread's timers fire within a nanosecond instead of fifty thousand.
pub(crate) fn sharpen_timers() {
    // SAFETY: no pointers. A kernel that refuses leaves later timers, which the log shows.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0, 0, 0) };
}

/// Keep this thread on one processor.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: all zeroes is an empty set; CPU_SET ignores a processor that is out of its range.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the kernel reads one set.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) })?;
    Ok(())
}

/// Let this process have as many descriptors as it may: a connection needs one.
///
/// # Errors
/// When the kernel refuses.
pub fn allow_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads one rlimit.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(())
}

/// A descriptor that becomes readable when this process is told to stop.
///
/// Call it before any thread starts: threads inherit the blocked signals.
///
/// # Errors
/// When the kernel refuses the descriptor.
pub fn stop_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before use, and lives across the calls.
    let fd = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC)
    };
    // SAFETY: signalfd just returned this descriptor, checked, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(check(fd)?) })
}

/// Wait until one of two descriptors can be read; return whether each can.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_readable(first: RawFd, second: RawFd) -> io::Result<(bool, bool)> {
    let mut polls = [first, second].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: two pollfds, live across the call.
    match check(unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        other => {
            other?;
        }
    }
    Ok((polls[0].revents != 0, polls[1].revents != 0))
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / SECOND_NS).cast_signed(),
        tv_nsec: (ns % SECOND_NS).cast_signed(),
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
