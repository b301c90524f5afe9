//! What servers see, and what they do about it.

pub(in crate::drive) const MS: u64 = 1_000_000;
pub(in crate::drive) const S: u64 = 1_000_000_000;

/// A request as the server has read it.
#[derive(Debug, Clone)]
pub(in crate::drive) struct Seen {
    /// Its place among all.
    pub(in crate::drive) index: usize,
    pub(in crate::drive) at_ns: u64,
    /// Which of the connections that were ever opened it came on, and as which request there.
    pub(in crate::drive) connection: usize,
    pub(in crate::drive) nth_there: usize,
    pub(in crate::drive) path: String,
    pub(in crate::drive) text: String,
}

/// What the server does about a request.
#[derive(Debug, Clone)]
pub(in crate::drive) enum Reply {
    /// An answer without a body, so many nanoseconds later.
    After(u64),
    /// An answer with this status, headers and body, in one piece.
    Answer { after_ns: u64, status: u16, headers: &'static str, body: usize },
    /// These bytes, each piece so long after the request.
    Pieces(Vec<(u64, Vec<u8>)>),
    /// The same, and the end of the stream with the last one.
    PiecesThenClose(Vec<(u64, Vec<u8>)>),
    /// An answer after so long, and the end of the stream after so long more.
    AnswerThenClose(u64, u64),
    /// A body that never ends, as fast as it is read.
    Endless,
    /// Nothing, ever.
    Silence,
    /// The end of the stream after so long, though the request was taken.
    Close(u64),
    /// The end of the stream after so long; not a byte of the request was taken.
    CloseUnread(u64),
    /// A reset after so long.
    Reset(u64),
}

/// What becomes of an attempt to connect.
#[derive(Debug, Clone, Copy)]
pub(in crate::drive) enum Door {
    /// It is connected after so long.
    Opens(u64),
    /// It is refused after so long.
    Refuses(u64),
    /// Nothing is heard.
    Silent,
    /// The socket cannot be had: this error of the kernel.
    Fails(i32),
}

/// An answer as it goes over the wire.
pub(in crate::drive) fn answer(status: u16, headers: &str, body: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {body}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; body]].concat()
}
