//! Bytes between a session and its reader or its socket.

/// Bytes that wait for their turn. Holds no memory when there are none.
#[derive(Debug, Default)]
pub(super) struct Leftover {
    bytes: Vec<u8>,
    from: usize,
}

impl Leftover {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.from += count;
        if self.from == self.bytes.len() {
            *self = Self::default();
        }
    }

    /// Move into `room` what fits; returns how much.
    pub(super) fn pour(&mut self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.rest().len());
        room[..count].copy_from_slice(&self.rest()[..count]);
        self.advance(count);
        count
    }

    /// Append so many bytes, to be written now.
    pub(super) fn grow(&mut self, count: usize) -> &mut [u8] {
        let from = self.bytes.len();
        self.bytes.resize(from + count, 0);
        &mut self.bytes[from..]
    }
}

/// Room of a reader that fills up.
pub(super) struct Sink<'a> {
    room: &'a mut [u8],
    filled: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(room: &'a mut [u8]) -> Self {
        Self { room, filled: 0 }
    }

    /// How many bytes were put there.
    pub(super) const fn filled(&self) -> usize {
        self.filled
    }

    /// Take as much as fits; returns the rest.
    pub(super) fn put<'b>(&mut self, payload: &'b [u8]) -> &'b [u8] {
        let room = &mut self.room[self.filled..];
        let (fitting, rest) = payload.split_at(payload.len().min(room.len()));
        room[..fitting.len()].copy_from_slice(fitting);
        self.filled += fitting.len();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_comes_out_in_order_and_leaves_no_memory() {
        let mut leftover = Leftover::default();
        leftover.push(b"abc");
        leftover.grow(2).copy_from_slice(b"de");
        let mut room = [0; 4];
        assert_eq!(leftover.pour(&mut room), 4);
        assert_eq!((&room, leftover.rest()), (b"abcd", &b"e"[..]));
        leftover.push(b"f");
        leftover.advance(1);
        assert_eq!(leftover.pour(&mut room), 1);
        assert_eq!(room[0], b'f');
        assert!(leftover.is_empty());
        assert_eq!(leftover.bytes.capacity(), 0);
    }

    #[test]
    fn a_reader_gets_what_it_has_room_for() {
        let mut room = [0; 3];
        let mut sink = Sink::new(&mut room);
        assert_eq!(sink.put(b"ab"), b"");
        assert_eq!(sink.put(b"cd"), b"d");
        assert_eq!(sink.put(b"e"), b"e");
        assert_eq!(sink.filled(), 3);
        assert_eq!(&room, b"abc");
    }
}
