//! What a thread's things are called by: numbers that cannot be taken for one another, and tables
//! that only the right ones open.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A place in a [`Table`].
pub(super) trait Id: Copy + PartialEq {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) struct $name(u32);

        impl Id for $name {
            #[inline]
            fn new(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A place for a socket, one after the other.
    ConnectionId
}
id! {
    /// A place for a request and its answer, one after the other. HTTP/1.1 has one of them on each
    /// connection.
    ExchangeId
}
id! {
    /// A visit under way. It stands at the number of its first connection.
    VisitId
}
id! {
    /// A user's place among those of an arm.
    UserId
}

impl VisitId {
    /// The visit that begins on this connection.
    pub(super) const fn on(first: ConnectionId) -> Self {
        Self(first.0)
    }

    pub(super) const fn first_connection(self) -> ConnectionId {
        ConnectionId(self.0)
    }
}

/// One of the sockets that a connection has in the course of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SocketId {
    pub(super) connection: ConnectionId,
    /// Which one; what is meant for an earlier one is stale.
    pub(super) life: u32,
}

impl SocketId {
    /// As the kernel carries it along with events.
    #[inline]
    pub(super) const fn to_token(self) -> u64 {
        (self.life as u64) << 32 | self.connection.0 as u64
    }

    #[inline]
    pub(super) const fn of_token(token: u64) -> Self {
        Self { connection: ConnectionId(token as u32), life: (token >> 32) as u32 }
    }
}

/// Things by their numbers.
#[derive(Debug)]
pub(super) struct Table<I, T> {
    things: Vec<T>,
    ids: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    pub(super) fn of(things: impl IntoIterator<Item = T>) -> Self {
        Self { things: things.into_iter().collect(), ids: PhantomData }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.things.len()).map(I::new)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.things.iter_mut()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.things[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.things[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_which_socket_of_which_connection_is_meant() {
        let socket = SocketId { connection: ConnectionId::new(7), life: u32::MAX };
        assert_eq!(SocketId::of_token(socket.to_token()), socket);
        let next = SocketId { life: socket.life.wrapping_add(1), ..socket };
        assert_ne!(next.to_token(), socket.to_token());
    }
}
