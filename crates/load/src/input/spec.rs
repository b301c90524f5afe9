//! What to run: the arms, the windows of load over them, and how to load.

use serde::{Deserialize, Deserializer};

use super::tls_options::Tls;
use super::traffic::{Arrival, Length, Think};

/// All of a run. There are no defaults here: the caller owns them.
#[derive(Debug, Clone, Deserialize)]
pub struct LoadSpec {
    /// The servers; windows name them by index.
    pub arms: Vec<Arm>,
    /// The stretches of load, one after the other.
    pub windows: Vec<Window>,
    /// In a closed loop the users, over all threads. Else the most connections that an arm has at
    /// a time, over all threads. At least 1.
    pub connections: usize,
    /// When requests are sent.
    pub arrival: Arrival,
    /// Who sends them.
    pub users: Users,
    /// A connection ends after this many answers; 0: it is kept as long as the server keeps it.
    ///
    /// With 1 the request says `Connection: close`. The engine closes with a reset (`SO_LINGER` 0)
    /// as soon as the whole answer was read: no `TIME_WAIT`, so the ephemeral ports last.
    pub requests_per_connection: u64,
    /// The users of a closed loop start at this rate; 0: all at once.
    pub connections_per_s: f64,
    /// Some of the users have a slow line.
    pub slow: Option<Slow>,
    /// The patience of a client, from the due time (open loop) or from sending (closed loop).
    pub timeout_s: f64,
    /// How long the end of a window waits for answers under way.
    pub drain_s: f64,
    /// Threads that load; never more are started than there are connections.
    pub threads: usize,
    /// CPUs to pin the threads to, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Everything random in a run follows from it.
    pub seed: u64,
    /// How long to poll rather than sleep before a due time (open loop only): buys punctuality
    /// for CPU time. Meanwhile each thread passes bytes to itself over loopback, which keeps the
    /// kernel's way for packets in the caches.
    pub spin_s: f64,
    /// Of each window, the instants of the first so many measured requests are kept; 0: none.
    pub n_traced: usize,
}

/// The users behind the requests.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Users {
    /// Each has a cookie jar.
    pub has_cookies: bool,
    /// The part of the visits that new users make, 0 to 1; their jars are empty. The others
    /// return with the jar that they have.
    pub new_ratio: f64,
    /// Open loop and sessions: how many users may return; at least 1.
    pub n_returning: usize,
    /// Steps of a visit. In an open loop of requests every arrival is a visit of one step.
    pub visit: Length,
    /// Between the steps of a visit, and between the visits of a closed loop's user.
    pub think: Think,
}

impl Users {
    /// Users without memory who do not pause.
    pub const PLAIN: Self = Self {
        has_cookies: false,
        new_ratio: 0.0,
        n_returning: 1,
        visit: Length::Fixed(1),
        think: Think::None,
    };
}

/// Users whose line is slow, both ways.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Slow {
    /// The part of the users (closed loop) or of the arrivals, 0 to 1.
    pub ratio: f64,
    /// Bytes per second of a connection in each direction; 0: no limit.
    pub bytes_per_s: f64,
    /// The receive buffer that the kernel is asked for; 0: its own choice.
    pub receive_buffer_bytes: usize,
}

/// A server to load.
#[derive(Debug, Clone, Deserialize)]
pub struct Arm {
    /// `ip:port`, `[ip]:port` or `unix:/path`.
    pub address: String,
    /// Where it listens there: the path of a network namespace, such as `/proc/4711/ns/net`. Empty:
    /// the one that the run is started in.
    pub network: String,
    /// Speak TLS.
    pub tls: Option<Tls>,
    /// The table that steps refer to; at least one.
    pub requests: Vec<Request>,
    /// What visits consist of; at least one. With equal weights they are sent in turn: in an open
    /// loop over all threads, in a closed loop by each thread for itself. Else they are drawn.
    pub steps: Vec<Step>,
    /// In which order a visit takes them.
    pub order: Order,
    /// Closed loop: what each user asks for before the arm's first window, one after the other and
    /// once, such as a login. Told apart from the windows; the cookies stay.
    pub first: Vec<Request>,
    /// The connections that the objects of a page share, its document's included; at least 1.
    pub connections_per_page: usize,
    /// Arms of one number draw alike, those of different numbers independently; of 0 they draw by
    /// the run's seed itself.
    pub stream: u64,
}

impl Arm {
    /// A plain server that is asked for each of `requests` in turn.
    pub fn new(address: impl Into<String>, requests: Vec<Request>) -> Self {
        Self {
            address: address.into(),
            network: String::new(),
            tls: None,
            steps: (0..requests.len()).map(Step::request).collect(),
            requests,
            order: Order::Mixed,
            first: Vec::new(),
            connections_per_page: 1,
            stream: 0,
        }
    }
}

/// In which order visits take an arm's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As the weights say, whoever's turn it is.
    Mixed,
    /// Each visit takes them in their order, from the first one on, and again where it is longer.
    Given,
}

/// One step of a visit: a request, or a page of a document and its objects.
#[derive(Debug, Clone, Deserialize)]
pub struct Step {
    /// How often it is sent, in proportion to the others.
    pub weight: f64,
    /// The index of the request or document in the table.
    pub request: usize,
    /// The indices of a page's objects, asked for when the document is there.
    pub objects: Vec<usize>,
}

impl Step {
    /// The request of this index, by itself.
    pub const fn request(index: usize) -> Self {
        Self { weight: 1.0, request: index, objects: Vec::new() }
    }
}

/// One request, and what a right answer to it looks like.
///
/// The target, the values of headers and the body may hold `{n}` (the number of the step in the
/// run), `{user}` (the number of the user) and `{random}` (16 hexadecimal digits).
#[derive(Debug, Clone, Deserialize)]
pub struct Request {
    /// A token, such as `GET`.
    pub method: String,
    /// The request target as it goes on the wire, such as `/a?b=c`.
    #[serde(rename = "path")]
    pub target: String,
    /// Must hold `Host`. `Content-Length` is added where there is a body (or the method asks for
    /// one), `Connection: close` where connections are not kept.
    pub headers: Vec<(String, String)>,
    /// Sent as it is, but for what is substituted.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
    /// The status of a right answer; 0 accepts any 2xx or 3xx.
    #[serde(deserialize_with = "any")]
    pub expect_status: u16,
    /// The length of a right answer's body, decoded: chunks and gzip; `None` accepts any.
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
/// The arm is loaded for `lead_in_s`, then measured for `measure_s` or until `n_requests` steps
/// were offered, then nothing new is sent and what is in flight is waited for, `drain_s` at most.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Window {
    /// The index of the arm.
    pub arm: usize,
    /// Load before the measured part.
    pub lead_in_s: f64,
    /// The measured part; may be infinite when `n_requests` is not 0 or the arrivals end by
    /// themselves.
    pub measure_s: f64,
    /// Ends the measured part when this many steps (with sessions: visits) were offered in it; 0:
    /// no such limit.
    pub n_requests: u64,
    /// Closed loop: credit the measured part with the part of each cycle that lies within it.
    #[serde(flatten, deserialize_with = "credit")]
    pub credit: Option<Credit>,
}

/// How a closed-loop window is credited with what its users got done, see [`crate::Cycles`].
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Credit {
    /// The users begin within so long, each at a random instant of its share of it; the lead-in
    /// comes after that. 0: all at once. Where they start at a rate, that holds instead.
    pub spread_s: f64,
    /// After the measured part the load goes on unchanged until every user has begun another step:
    /// so each cycle's length is known and was had under load. For at most so long; above 0.
    pub tail_s: f64,
}

/// A window says both of its times always; without a tail it is not credited.
fn credit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Credit>, D::Error> {
    let credit = Credit::deserialize(from)?;
    Ok((credit.tail_s != 0.0).then_some(credit))
}

/// None is any.
fn any<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
