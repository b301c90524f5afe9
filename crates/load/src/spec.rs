//! What to run: the arms, the windows of load over them, and how to load.

/// All of a run. There are no defaults here: the caller owns them.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// The servers; windows name them by index.
    pub arms: Vec<Arm>,
    /// The stretches of load, one after the other.
    pub windows: Vec<Window>,
    /// Connections to an arm, over all threads; at least 1.
    pub connections: usize,
    /// Whether a connection takes the next request after an answer, or is opened for each.
    ///
    /// When false the request says `Connection: close`, and the engine closes with a reset
    /// (`SO_LINGER` 0) as soon as the whole answer was read: no `TIME_WAIT`, so the ephemeral
    /// ports last.
    pub keep_alive: bool,
    /// 0: closed loop, each connection sends as soon as it was answered. Above: open loop, this
    /// many requests are due in each second whatever the server does.
    pub rate_per_s: f64,
    /// The patience of a client, from the due time (open loop) or from sending (closed loop).
    pub timeout_s: f64,
    /// How long the end of a window waits for answers under way.
    pub drain_s: f64,
    /// Threads that load; never more are started than there are connections.
    pub threads: usize,
    /// CPUs to pin the threads to, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// For what is random in a run. Constant rate and closed loop use no randomness yet.
    pub seed: u64,
    /// How long to poll rather than sleep before a due time (open loop only): buys punctuality
    /// for CPU time.
    pub spin_s: f64,
}

/// A server to load.
#[derive(Debug, Clone)]
pub struct Arm {
    /// `ip:port`.
    pub address: String,
    /// Sent in turn: in an open loop over all threads, in a closed loop by each thread for itself.
    /// At least one.
    pub requests: Vec<Request>,
}

/// One request, and what a right answer to it looks like.
#[derive(Debug, Clone)]
pub struct Request {
    /// A token, such as `GET`.
    pub method: String,
    /// The request target as it goes on the wire, such as `/a?b=c`.
    pub target: String,
    /// Must hold `Host`. `Content-Length` is added where there is a body (or the method asks for
    /// one), `Connection: close` where connections are not kept.
    pub headers: Vec<(String, String)>,
    /// Sent as it is.
    pub body: Vec<u8>,
    /// The status of a right answer; 0 accepts any 2xx or 3xx.
    pub expect_status: u16,
    /// The length of a right answer's body, chunks decoded; `None` accepts any.
    pub expect_length: Option<u64>,
}

impl Request {
    /// A `GET` that takes any 2xx or 3xx for right.
    pub fn get(host: &str, target: &str) -> Self {
        Self {
            method: "GET".to_owned(),
            target: target.to_owned(),
            headers: vec![("Host".to_owned(), host.to_owned())],
            body: Vec::new(),
            expect_status: 0,
            expect_length: None,
        }
    }
}

/// A stretch of load on one arm.
///
/// The arm is loaded for `lead_in_s`, then measured for `measure_s` or until `n_requests` were
/// offered, then nothing new is sent and what is in flight is waited for, `drain_s` at most.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// The index of the arm.
    pub arm: usize,
    /// Load before the measured part.
    pub lead_in_s: f64,
    /// The measured part; may be infinite when `n_requests` is not 0.
    pub measure_s: f64,
    /// Ends the measured part when this many were offered in it; 0: no such limit.
    pub n_requests: u64,
}
