//! The system calls that the standard library has no safe door to. All unsafe code is here.
#![allow(unsafe_code, reason = "raw system calls; each block says why it is sound")]

mod network;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

pub(crate) use network::Network;

/// Turn the -1 of a system call into its error.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Turn what a system call that counts bytes returned into their number, or its error.
#[inline]
fn counted(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write. The clocks used exist on every Linux, so the call
    // cannot fail; if it did, the time stays 0.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, in nanoseconds: comparable between the processes of a machine.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, user and system, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process, user and system, in nanoseconds.
pub(crate) fn process_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// How often the calling thread was taken off its CPU although it could have gone on.
pub(crate) fn thread_preemptions() -> u64 {
    // SAFETY: a rusage is plain integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the write. If the call failed, the count stays 0.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw as u64
}

/// Let this thread's timers fire on time: by default the kernel may add 50 µs to each.
pub(crate) fn sharpen_timers() {
    let one_ns: libc::c_ulong = 1;
    // SAFETY: PR_SET_TIMERSLACK takes an integer and touches no memory. It cannot fail for 1.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, one_ns, 0, 0, 0) };
}

/// Keep the calling thread on one CPU.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: a cpu_set_t is plain bits, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: CPU_SET checks the bound of `cpu` itself (it indexes an array, and would panic).
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is valid for the size given; 0 is the calling thread.
    checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}

/// The CPUs that the calling thread may run on; all that there may be, where nobody knows.
pub(crate) fn usable_cpus() -> Vec<usize> {
    // SAFETY: a cpu_set_t is plain bits, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for the write of the size given; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    // SAFETY: CPU_ISSET reads a bit of the set, which has this many.
    (0..MAX_CPUS).filter(|&cpu| result != 0 || unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// The CPUs that can be named in [`pin_to`].
pub(crate) const MAX_CPUS: usize = libc::CPU_SETSIZE as usize;

/// Raise the limit of open files as far as this process may, and return it.
pub(crate) fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the write.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is valid for the read.
        checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    }
    Ok(limit.rlim_cur)
}

/// How many bytes of this connection the peer's kernel has acknowledged; `None` if not known.
pub(crate) fn acknowledged_bytes(stream: &impl AsFd) -> Option<u64> {
    // `tcp_info` up to and with `tcpi_bytes_acked` (linux/tcp.h; since Linux 4.1): 8 bytes, 24
    // 32-bit fields, then pacing_rate, max_pacing_rate and bytes_acked as 64 bits each.
    const BYTES_ACKED_WORD: usize = (8 + 24 * 4) / 8 + 2;
    let mut info = [0_u64; BYTES_ACKED_WORD + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: `info` is valid for `length` bytes, and any bits are a valid array of integers.
    let result = unsafe {
        libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let is_whole = result == 0 && length as usize == size_of_val(&info);
    // The SYN counts as a byte.
    is_whole.then(|| info[BYTES_ACKED_WORD].saturating_sub(1))
}

/// Never offer the peer more room than this, in bytes; a few hundred are the least. Must come
/// before the connection is made: what has been offered cannot be taken back.
pub(crate) fn clamp_window(socket: BorrowedFd<'_>, n_bytes: usize) -> io::Result<()> {
    let limit = libc::c_int::try_from(n_bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: `limit` is valid for the read of its size.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const limit).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// What happened on a descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) token: u64,
    flags: u32,
}

#[cfg(test)]
impl Event {
    /// The socket can be written to, has bytes, has its end, is broken.
    pub(crate) const WRITABLE: u32 = libc::EPOLLOUT as u32;
    pub(crate) const READABLE: u32 = libc::EPOLLIN as u32;
    pub(crate) const CLOSED: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP) as u32;
    pub(crate) const BROKEN: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

    pub(crate) const fn new(token: u64, flags: u32) -> Self {
        Self { token, flags }
    }

    pub(crate) const fn with(self, flags: u32) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
}

impl Event {
    pub(crate) const fn is_writable(self) -> bool {
        self.flags & libc::EPOLLOUT as u32 != 0
    }

    /// There is something to read: bytes, the end or an error.
    pub(crate) const fn is_readable(self) -> bool {
        self.flags & (libc::EPOLLIN as u32) != 0 || self.is_closed()
    }

    /// The peer will send no more, or the connection broke.
    pub(crate) const fn is_closed(self) -> bool {
        self.flags & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }

    /// The connection broke, or could not be made.
    pub(crate) const fn is_broken(self) -> bool {
        self.flags & (libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
}

/// Read what a socket has into `room`; 0 at the end of the stream.
///
/// By number, like the other calls of the loop: the C library's wrappers are cancellation points,
/// which costs two atomic operations for each call of a program with threads.
#[inline]
pub(crate) fn receive(socket: &impl AsFd, room: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `room` is valid for a write of its length; no address is asked for.
    counted(unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_fd().as_raw_fd(),
            room.as_mut_ptr(),
            room.len(),
            0,
            ptr::null_mut::<libc::sockaddr>(),
            ptr::null_mut::<libc::socklen_t>(),
        )
    })
}

/// Write what a socket takes of `bytes`. Never a signal.
#[inline]
pub(crate) fn send(socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is valid for a read of its length; no address is given.
    counted(unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_fd().as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            ptr::null::<libc::sockaddr>(),
            0,
        )
    })
}

/// Events fetched at a time.
const BATCH: u8 = 255;
pub(crate) const MAX_EVENTS: usize = BATCH as usize;

/// An epoll instance with room for a batch of events.
pub(crate) struct Epoll {
    descriptor: OwnedFd,
    events: Vec<libc::epoll_event>,
    n_events: usize,
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let raw = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor is new and owned by nobody else.
        let descriptor = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self {
            descriptor,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; usize::from(BATCH)],
            n_events: 0,
        })
    }

    /// Watch a connection, once for all its life: edge-triggered, for everything.
    ///
    /// A writable edge only comes when a write fell short before, so it costs nothing to ask.
    pub(crate) fn add_stream(&self, stream: &impl AsFd, token: u64) -> io::Result<()> {
        let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.add(stream.as_fd().as_raw_fd(), flags, token)
    }

    /// Watch the waker.
    pub(crate) fn add_waker(&self, waker: &Waker, token: u64) -> io::Result<()> {
        self.add(waker.0.as_raw_fd(), libc::EPOLLIN, token)
    }

    fn add(&self, descriptor: libc::c_int, flags: libc::c_int, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: flags as u32, u64: token };
        let epoll = self.descriptor.as_raw_fd();
        // SAFETY: `event` is valid for the read; a wrong descriptor is an error, not unsound.
        checked(unsafe {
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        })?;
        Ok(())
    }

    /// Wait for events, at most `timeout`; `None` waits for ever. Returns how many came.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::from(i32::try_from(timeout.as_secs()).unwrap_or(i32::MAX)),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        });
        let limit_pointer = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // By number, because older C libraries have no wrapper for it.
        // SAFETY: the events' buffer is valid for BATCH entries, the timespec (or null) for the
        // read, and a null signal mask is allowed.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.descriptor.as_raw_fd(),
                self.events.as_mut_ptr(),
                libc::c_int::from(BATCH),
                limit_pointer,
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        self.n_events = match checked(result as libc::c_int) {
            Ok(n_events) => n_events as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(self.n_events)
    }

    /// The `index`-th event of the last wait.
    pub(crate) fn event(&self, index: usize) -> Event {
        debug_assert!(index < self.n_events);
        let event = self.events[index];
        Event { token: event.u64, flags: event.events }
    }
}

/// Wakes a thread from its wait; an eventfd.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let raw = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(raw) }))
    }

    /// Wake the thread that waits, or the next time it would.
    pub(crate) fn wake(&self) {
        let one = 1_u64;
        // SAFETY: 8 readable bytes. It can only fail when the counter is full, and then the
        // thread is woken already.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Forget that it was woken.
    pub(crate) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: 8 writable bytes. When there is nothing to read the count stays 0.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_waker_ends_a_wait_once() {
        let (mut epoll, waker) = (Epoll::new().unwrap(), Waker::new().unwrap());
        epoll.add_waker(&waker, 9).unwrap();
        waker.wake();
        assert_eq!(epoll.wait(None).unwrap(), 1);
        assert_eq!(epoll.event(0).token, 9);
        waker.clear();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).unwrap(), 0);
    }

    #[test]
    fn acknowledged_bytes_are_those_of_the_application() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert_eq!(acknowledged_bytes(&client), Some(0));
        client.write_all(b"12345").unwrap();
        server.read_exact(&mut [0; 5]).unwrap();
        server.write_all(b"x").unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
        assert_eq!(acknowledged_bytes(&client), Some(5));
    }
}
