//! Run the oracle by itself, until its standard input ends or it is told to stop.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use httpdyno_oracle::{
    Authority, CloseAfter, Door, Error, Oracle, OracleConfig, PeriodicStall, Place, Reception,
    Service, TlsVersions, allow_descriptors, quoted, stop_signals, wait_readable,
};

const HELP: &str = "\
An HTTP/1.1 origin whose timing is known.

Usage: httpdyno-oracle [OPTION VALUE]...

Its first line of output is JSON: {\"address\": \"127.0.0.1:PORT\", ..., \"pid\": N}, with TLS also
\"ca_file\", \"client_certificate_file\" and \"client_key_file\", and with more doors than one
\"doors\": [{\"address\": \"unix:/path\", \"is_tls\": false}, ...]. It ends with its standard input, or on
SIGTERM or SIGINT.

  --listen ADDRESS         loopback address and port [127.0.0.1:0]
  --door PLACE             listen there too: 127.0.0.1:0, [::1]:0 or unix:/path; may be repeated
  --tls-door PLACE         the same, with TLS; needs --tls-folder
  --reception NAME         how connections through these doors are received [usual]
  --tls-folder FOLDER      where the certificates for clients are; they go when the program ends
  --tls-versions WHICH     1.2, 1.3 or any [any]
  --client-certificate W   required or none [none]
  --resumption WHETHER     on or off [on]
  --service TIME           fixed:20ms, exp:5ms, lognormal:5ms:0.5 or bimodal:1ms:20ms:0.1 [fixed:0s]
  --length BYTES           length of a body [12]
  --workers N              how many requests are served at once [all]
  --seed N                 gives the service times [1]
  --log-capacity N         how many arrivals the log holds [1000000]
  --connection-log-capacity N  how many connections theirs holds [65536]
  --keep-requests N        how many requests are kept whole [0]
  --backlog N              how many connections may wait to be accepted
  --accept-delay TIME      from a connection's acceptance to its first read [0s]
  --handshake-delay TIME   from the first message of a TLS handshake to its read [0s]
  --send-buffer BYTES      SO_SNDBUF of each connection
  --receive-buffer BYTES   SO_RCVBUF of each connection
  --close-after N[:silent] end a connection after so many requests
  --idle-close TIME        end a connection after so much idleness
  --stall-every PERIOD:TIME  stall for a time, each period
  --route PATH=PATH        let a path stand for another, such as /cart=/fixed/20ms
  --cpu N                  the processor to run on
  --spin WHETHER           on: never sleep, and stamp arrivals without the delay of a wake-up [off]

Example: httpdyno-oracle --service exp:5ms --workers 2 --listen 127.0.0.1:8080
";

/// What the options say.
#[derive(Default)]
struct Options {
    config: OracleConfig,
    reception: Option<Reception>,
    tls_folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return if write!(io::stdout(), "{HELP}").is_ok() { 0 } else { 70 }.into();
    }
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(error) => return fail(&error, 2),
    };
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 3),
    }
}

fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    // Standard error may be closed; the exit code still tells.
    let _ = writeln!(io::stderr(), "error: {error}");
    code.into()
}

fn serve(options: Options) -> io::Result<()> {
    let signals = stop_signals()?;
    allow_descriptors()?;
    let oracle = Oracle::start(options.config)?;
    let certificates = match (oracle.authority(), &options.tls_folder) {
        (Some(authority), Some(folder)) => Some(Certificates::write(authority, folder)?),
        _ => None,
    };
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", first_line(&oracle, certificates.as_ref()))?;
    stdout.flush()?;
    let mut stdin = io::stdin().lock();
    loop {
        let (is_told, has_input) = wait_readable(signals.as_raw_fd(), io::stdin().as_raw_fd())?;
        if is_told || (has_input && stdin.read(&mut [0; 4096])? == 0) {
            return oracle.stop();
        }
    }
}

/// Where the server is, as JSON.
fn first_line(oracle: &Oracle, certificates: Option<&Certificates>) -> String {
    let mut facts = vec![("address", quoted(&oracle.addr().to_string()))];
    if oracle.doors().len() > 1 {
        let doors = oracle.doors().iter().map(|door| {
            let address = quoted(&door.place.to_string());
            format!("{{\"address\": {address}, \"is_tls\": {}}}", door.is_tls)
        });
        facts.push(("doors", format!("[{}]", doors.collect::<Vec<_>>().join(", "))));
    }
    facts.extend(oracle.tls_addr().map(|addr| ("tls_address", quoted(&addr.to_string()))));
    let files = certificates.map_or(&[][..], |certificates| &certificates.0);
    let names = ["ca_file", "client_certificate_file", "client_key_file"].into_iter();
    facts.extend(names.zip(files.iter().map(|path| quoted(&path.to_string_lossy()))));
    facts.push(("pid", std::process::id().to_string()));
    let facts: Vec<String> =
        facts.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}", facts.join(", "))
}

/// The files that clients need: the authority's certificate, a client's, and its key.
struct Certificates(Vec<PathBuf>);

impl Certificates {
    fn write(authority: &Authority, folder: &Path) -> io::Result<Self> {
        let client = authority.client();
        let mut written = Self(Vec::new());
        for (name, content) in [
            ("ca.pem", &authority.ca_pem()),
            ("client.pem", &client.chain_pem),
            ("client-key.pem", &client.key_pem),
        ] {
            let path = folder.join(name);
            let mut open = fs::OpenOptions::new();
            let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            written.0.push(path);
            file.write_all(content.as_bytes())?;
        }
        Ok(written)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        for path in &self.0 {
            // Nobody is left to tell; whoever took it away already has done what is wanted.
            let _ = fs::remove_file(path);
        }
    }
}

fn parse(arguments: &[String]) -> Result<Options, Error> {
    let config = OracleConfig { log_capacity: 1_000_000, ..OracleConfig::default() };
    let mut options = Options { config, ..Options::default() };
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            return Err(Error::Argument(format!("{} needs a value; see --help", pair[0])));
        };
        apply(&mut options, option, value)
            .or_else(|| apply_tls(&mut options, option, value))
            .or_else(|| apply_limits(&mut options.config, option, value))
            .ok_or_else(|| {
                Error::Argument(format!("{option} {value} is not understood; see --help"))
            })?;
    }
    if let Some(reception) = options.reception {
        options.config.doors.iter_mut().for_each(|door| door.reception = reception);
    }
    if options.tls_folder.is_none() && options.config.doors.iter().any(|door| door.is_tls) {
        let reason = "--tls-door needs --tls-folder, where clients find what to trust";
        return Err(Error::Argument(reason.to_owned()));
    }
    Ok(options)
}

fn apply(options: &mut Options, option: &str, value: &str) -> Option<()> {
    let config = &mut options.config;
    match option {
        "--listen" => config.listen = value.parse().ok()?,
        "--door" => config.doors.push(Door::plain(value.parse::<Place>().ok()?)),
        "--reception" => options.reception = Some(Reception::named(value)?),
        "--service" => config.service = Service::parse(value).ok()?,
        "--length" => config.body_bytes = value.parse().ok()?,
        "--workers" => config.workers = Some(value.parse().ok()?),
        "--seed" => config.seed = value.parse().ok()?,
        "--close-after" => {
            let (requests, is_announced) = match value.strip_suffix(":silent") {
                Some(requests) => (requests, false),
                None => (value, true),
            };
            let requests = requests.parse().ok().filter(|requests| *requests > 0)?;
            config.close_after = Some(CloseAfter { requests, is_announced });
        }
        "--stall-every" => {
            let (period, duration) = value.split_once(':')?;
            let (period, duration) = (time(period)?, time(duration)?);
            config.stall_every = Some(PeriodicStall { period, duration });
        }
        "--route" => {
            let (from, to) = value.split_once('=')?;
            config.routes.push((from.to_owned(), to.to_owned()));
        }
        _ => return None,
    }
    Some(())
}

fn apply_tls(options: &mut Options, option: &str, value: &str) -> Option<()> {
    let config = &mut options.config;
    match (option, value) {
        ("--tls-door", place) => config.doors.push(Door::tls(place.parse::<Place>().ok()?)),
        ("--tls-folder", folder) => options.tls_folder = Some(folder.into()),
        ("--tls-versions", "any") => config.tls.versions = TlsVersions::Any,
        ("--tls-versions", "1.2") => config.tls.versions = TlsVersions::Only12,
        ("--tls-versions", "1.3") => config.tls.versions = TlsVersions::Only13,
        ("--client-certificate", "required") => config.tls.needs_client_certificate = true,
        ("--client-certificate", "none") => config.tls.needs_client_certificate = false,
        ("--resumption", "on") => config.tls.resumes = true,
        ("--resumption", "off") => config.tls.resumes = false,
        _ => return None,
    }
    Some(())
}

fn apply_limits(config: &mut OracleConfig, option: &str, value: &str) -> Option<()> {
    match option {
        "--log-capacity" => config.log_capacity = value.parse().ok()?,
        "--connection-log-capacity" => config.connection_log_capacity = value.parse().ok()?,
        "--keep-requests" => config.keep_requests = value.parse().ok()?,
        "--spin" => {
            config.spins = match value {
                "on" => true,
                "off" => false,
                _ => return None,
            }
        }
        "--backlog" => config.backlog = Some(value.parse().ok()?),
        "--accept-delay" => config.accept_delay = time(value)?,
        "--handshake-delay" => config.handshake_delay = time(value)?,
        "--send-buffer" => config.send_buffer_bytes = Some(value.parse().ok()?),
        "--receive-buffer" => config.receive_buffer_bytes = Some(value.parse().ok()?),
        "--idle-close" => config.idle_close = Some(time(value)?),
        "--cpu" => config.cpu = Some(value.parse().ok()?),
        _ => return None,
    }
    Some(())
}

fn time(text: &str) -> Option<Duration> {
    match Service::parse(&format!("fixed:{text}")).ok()? {
        Service::Fixed(time) => Some(time),
        _ => None,
    }
}
