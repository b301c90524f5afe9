//! A connection in a virtual world.

use std::io;

use super::script::Door;
use super::world::World;
use crate::drive::platform::Stream;
use crate::wire::Handshake;

/// A connection in such a world.
#[derive(Debug)]
pub(in crate::drive) struct VirtualLink {
    pub(super) world: World,
    pub(super) place: usize,
}

impl Drop for VirtualLink {
    fn drop(&mut self) {
        self.world.0.borrow_mut().sockets[self.place].is_gone = true;
    }
}

impl Stream for VirtualLink {
    fn handshake(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn resumption(&self) -> Option<Handshake> {
        None
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut state = self.world.0.borrow_mut();
        let now_ns = state.now_ns;
        let socket = &mut state.sockets[self.place];
        let mut n_read = 0;
        while n_read < room.len()
            && let Some((at_ns, bytes)) = socket.incoming.front_mut()
            && *at_ns <= now_ns
        {
            let count = bytes.len().min(room.len() - n_read);
            room[n_read..n_read + count].copy_from_slice(&bytes[..count]);
            n_read += count;
            bytes.drain(..count);
            if bytes.is_empty() {
                socket.incoming.pop_front();
            }
        }
        if socket.is_endless {
            room[n_read..].fill(b'x');
            return Ok(room.len());
        }
        let has_come = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if n_read > 0 {
            Ok(n_read)
        } else if has_come(socket.resets_ns) {
            Err(io::ErrorKind::ConnectionReset.into())
        } else if has_come(socket.ends_ns) {
            Ok(0)
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn is_drained_by_short_read(&self) -> bool {
        true
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.world.0.borrow_mut().take(self.place, bytes);
        Ok(bytes.len())
    }

    fn wants_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn is_reusable(&self) -> bool {
        true
    }

    fn send_close_notify(&mut self) {}

    fn set_linger_zero(&self) -> io::Result<()> {
        Ok(())
    }

    fn sent_bytes(&self) -> u64 {
        self.world.0.borrow().sockets[self.place].sent_bytes
    }

    fn acknowledged_bytes(&self) -> Option<u64> {
        Some(self.world.0.borrow().sockets[self.place].acknowledged_bytes)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        let is_refused = matches!(self.world.0.borrow().sockets[self.place].door, Door::Refuses(_));
        Ok(is_refused.then(|| io::Error::from_raw_os_error(libc::ECONNREFUSED)))
    }
}
