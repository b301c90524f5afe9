//! What a request can make the server do.

use crate::named::named;

named! {
    /// What a request made the server do.
    Behaviour:
    /// 200 with Content-Length.
    Plain = "plain",
    /// 200 in chunks.
    Chunked = "chunked",
    /// 200 whose body ends with the connection.
    UntilClose = "until-close",
    /// Another status, with Content-Length where the status allows a body.
    Status = "status",
    /// 100, then 200.
    Continue = "continue",
    /// 103, then 200.
    EarlyHints = "early-hints",
    /// An HTTP/1.0 answer, then FIN.
    Http10 = "http10",
    /// 200 with `Connection: close`, then FIN.
    Close = "close",
    /// The body in small pieces, one each interval.
    Drip = "drip",
    /// 200 whose body is the request.
    Echo = "echo",
    /// 200 with a `Set-Cookie` for who comes without a session.
    Session = "session",
    /// 200 with `Set-Cookie` fields.
    Cookies = "cookies",
    /// 400: the path or the request made no sense.
    BadRequest = "bad-request",
    /// RST without a byte.
    ResetBefore = "reset-before",
    /// RST amid the header.
    ResetInHeaders = "reset-in-headers",
    /// RST after half of the body.
    ResetInBody = "reset-in-body",
    /// The whole answer, then RST.
    ResetAfter = "reset-after",
    /// RST as soon as the request's header is read: amid its body, if it has a long one.
    ResetInRequest = "reset-in-request",
    /// FIN without a byte.
    FinBefore = "fin-before",
    /// FIN amid the header.
    FinInHeaders = "fin-in-headers",
    /// FIN after half of the body.
    ShortBody = "short-body",
    /// The whole body under a Content-Length ten bytes too long, then FIN.
    LongLength = "long-length",
    /// Half of the body, then FIN without the `close_notify` of TLS.
    CutInBody = "cut-in-body",
    /// A body that ends with the connection, which ends without the `close_notify` of TLS.
    CutUntilClose = "cut-until-close",
    /// No answer, ever.
    Never = "never",
    /// Half of the header, then nothing more.
    HangInHeaders = "hang-in-headers",
    /// Half of the body, then nothing more.
    HangInBody = "hang-in-body",
    /// The header byte by byte, one each `interval`; then the body.
    DripHeaders = "drip-headers",
    /// A chunk size that is no number.
    BadChunk = "bad-chunk",
    /// A chunk size that no integer of 64 bits holds.
    ChunkOverflow = "chunk-overflow",
    /// A chunk whose data does not end in CRLF where its size says.
    ChunkWithoutCrlf = "chunk-without-crlf",
    /// Chunks, then FIN without the last one.
    UnendedChunks = "unended-chunks",
    /// No HTTP at all.
    Garbage = "garbage",
    /// The frames that an HTTP/2 server begins, and in a fury ends, with.
    Http2 = "http2",
    /// A status line that is no more than the version.
    NoStatus = "no-status",
    /// A header line without a colon.
    NoColon = "no-colon",
    /// Four header fields of 32 KiB each, then the rest as it should be.
    HeaderFlood = "header-flood",
    /// Header fields for ever.
    EndlessHeaders = "endless-headers",
    /// 100 for ever.
    InterimFlood = "interim-flood",
    /// A Content-Length of a tebibyte, and a body that comes as a KiB each millisecond.
    EndlessBody = "endless-body",
    /// A negative Content-Length.
    NegativeLength = "negative-length",
    /// A Content-Length that no integer of 64 bits holds.
    LengthOverflow = "length-overflow",
    /// Content-Length twice, the same: to take or to refuse, as the client likes (RFC 9110, 8.6).
    DoubledLength = "doubled-length",
    /// Content-Length twice, the second one longer.
    ConflictingLength = "conflicting-length",
    /// Content-Length and chunks: the chunks count, and are well (RFC 9112, 6.3).
    LengthAndChunked = "length-and-chunked",
    /// The whole answer, then bytes that belong to none.
    ExtraBytes = "extra-bytes",
    /// The whole answer, then closed without having said so: FIN, and RST to what still comes.
    SilentClose = "silent-close",
    /// The whole answer, then FIN without having said so; what still comes is thrown away.
    SilentLinger = "silent-linger",
    /// 200 as soon as the request's header is read; its body is thrown away, and all goes on.
    EarlyAnswer = "early-answer",
    /// 413 and FIN as soon as the request's header is read; its body is thrown away.
    Early413 = "early-413",
    /// 413 and RST as soon as the request's header is read.
    Early413Reset = "early-413-reset",
    /// The whole answer, but only after the client has sent FIN.
    HalfClosed = "half-closed",
}

impl Behaviour {
    /// Whether it stands under `/fault/`.
    pub fn is_fault(self) -> bool {
        self as usize >= Self::ResetBefore as usize
    }

    /// Whether it waits for no more of a request than its header.
    pub(crate) fn is_early(self) -> bool {
        matches!(
            self,
            Self::ResetInRequest | Self::EarlyAnswer | Self::Early413 | Self::Early413Reset
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reception::Reception;

    #[test]
    fn behaviours_have_names_of_their_own_and_know_their_place() {
        for (index, behaviour) in Behaviour::ALL.into_iter().enumerate() {
            assert_eq!(behaviour as usize, index);
            assert_eq!(Behaviour::named(behaviour.name()), Some(behaviour));
        }
        assert!(!Behaviour::BadRequest.is_fault() && Behaviour::HalfClosed.is_fault());
    }

    #[test]
    fn every_fault_and_reception_is_in_the_tables() {
        let tables = include_str!("lib.rs");
        let faults = Behaviour::ALL.into_iter().filter(|behaviour| behaviour.is_fault());
        let receptions = Reception::ALL.into_iter().filter(|one| *one != Reception::Usual);
        for name in faults.map(Behaviour::name).chain(receptions.map(Reception::name)) {
            let row =
                |line: &&str| line.starts_with("//! | `") && line.contains(&format!("`{name}`"));
            assert_eq!(tables.lines().filter(row).count(), 1, "{name}");
        }
    }
}
