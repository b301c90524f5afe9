//! Run the oracle by itself, until its standard input ends or it is told to stop.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::Duration;

use httpdyno_oracle::{
    CloseAfter, Error, Oracle, OracleConfig, PeriodicStall, Service, stop_signals, wait_readable,
};

const HELP: &str = "\
An HTTP/1.1 origin whose timing is known.

Usage: httpdyno-oracle [OPTION VALUE]...

Its first line of output is {\"address\": \"127.0.0.1:PORT\", \"pid\": N}. It ends with its standard
input, or on SIGTERM or SIGINT.

  --listen ADDRESS         loopback address and port [127.0.0.1:0]
  --service TIME           fixed:20ms, exp:5ms, lognormal:5ms:0.5 or bimodal:1ms:20ms:0.1 [fixed:0s]
  --length BYTES           length of a body [12]
  --workers N              how many requests are served at once [all]
  --seed N                 gives the service times [1]
  --log-capacity N         how many arrivals the log holds [1000000]
  --backlog N              how many connections may wait to be accepted
  --close-after N[:silent] end a connection after so many requests
  --idle-close TIME        end a connection after so much idleness
  --stall-every PERIOD:TIME  stall for a time, each period
  --route PATH=PATH        let a path stand for another, such as /cart=/fixed/20ms
  --cpu N                  the processor to run on

Example: httpdyno-oracle --service exp:5ms --workers 2 --listen 127.0.0.1:8080
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return if write!(io::stdout(), "{HELP}").is_ok() { 0 } else { 70 }.into();
    }
    let config = match parse(&arguments) {
        Ok(config) => config,
        Err(error) => return fail(&error, 2),
    };
    match serve(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 3),
    }
}

fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    // Standard error may be closed; the exit code still tells.
    let _ = writeln!(io::stderr(), "error: {error}");
    code.into()
}

fn serve(config: OracleConfig) -> io::Result<()> {
    let signals = stop_signals()?;
    let oracle = Oracle::start(config)?;
    let mut stdout = io::stdout();
    let pid = std::process::id();
    writeln!(stdout, "{{\"address\": \"{}\", \"pid\": {pid}}}", oracle.addr())?;
    stdout.flush()?;
    let mut stdin = io::stdin().lock();
    loop {
        let (is_told, has_input) = wait_readable(signals.as_raw_fd(), stdin_fd())?;
        if is_told || (has_input && stdin.read(&mut [0; 4096])? == 0) {
            return oracle.stop();
        }
    }
}

fn stdin_fd() -> i32 {
    io::stdin().as_raw_fd()
}

fn parse(arguments: &[String]) -> Result<OracleConfig, Error> {
    let mut config = OracleConfig { log_capacity: 1_000_000, ..OracleConfig::default() };
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            return Err(Error::Argument(format!("{} needs a value; see --help", pair[0])));
        };
        apply(&mut config, option, value).ok_or_else(|| {
            Error::Argument(format!("{option} {value} is not understood; see --help"))
        })?;
    }
    Ok(config)
}

fn apply(config: &mut OracleConfig, option: &str, value: &str) -> Option<()> {
    match option {
        "--listen" => config.listen = value.parse().ok()?,
        "--service" => config.service = Service::parse(value).ok()?,
        "--length" => config.body_bytes = value.parse().ok()?,
        "--workers" => config.workers = Some(value.parse().ok()?),
        "--seed" => config.seed = value.parse().ok()?,
        "--log-capacity" => config.log_capacity = value.parse().ok()?,
        "--backlog" => config.backlog = Some(value.parse().ok()?),
        "--cpu" => config.cpu = Some(value.parse().ok()?),
        "--idle-close" => config.idle_close = Some(time(value)?),
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

fn time(text: &str) -> Option<Duration> {
    match Service::parse(&format!("fixed:{text}")).ok()? {
        Service::Fixed(time) => Some(time),
        _ => None,
    }
}
