//! Where a server listens, as people write it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use socket2::{Domain, SockAddr};

use crate::error::Error;

/// How the address of a Unix socket begins.
const UNIX: &str = "unix:";

/// A place to connect to. No names: what a name stands for may change during a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    /// `ip:port` or `[ipv6]:port`.
    Tcp(SocketAddr),
    /// `unix:/path`.
    Unix(PathBuf),
}

impl Endpoint {
    /// Read an address; `field` is what the message of a refusal calls it.
    pub(crate) fn parse(text: &str, field: &str) -> Result<Self, Error> {
        let refusal = |expected: &str| Err(Error::invalid(field, format!("{text:?}"), expected));
        if let Some(path) = text.strip_prefix(UNIX) {
            return match SockAddr::unix(path) {
                _ if !path.starts_with('/') => refusal("unix: and a whole path, from / on"),
                // The kernel's limit: 108 bytes with the NUL that ends it.
                Ok(_) if !path.contains('\0') => Ok(Self::Unix(path.into())),
                _ => refusal("a path that a Unix socket can have: 107 bytes at most, no NUL"),
            };
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.port() == 0 => {
                Err(Error::invalid(field, address, "a port above 0"))
            }
            Ok(address) => Ok(Self::Tcp(address)),
            Err(_) => refusal("ip:port, such as 127.0.0.1:8080 or [::1]:8080, or unix:/path"),
        }
    }

    /// The kind of socket that gets there.
    pub(super) fn domain(&self) -> Domain {
        match self {
            Self::Tcp(address) => Domain::for_address(*address),
            Self::Unix(_) => Domain::UNIX,
        }
    }

    /// As the kernel takes it.
    pub(super) fn to_socket_address(&self) -> io::Result<SockAddr> {
        match self {
            Self::Tcp(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "{UNIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_was_read() {
        for text in ["127.0.0.1:80", "[::1]:8080", "[fe80::1%3]:1", "unix:/run/a b.sock"] {
            assert_eq!(Endpoint::parse(text, "address").unwrap().to_string(), text);
        }
    }

    #[test]
    fn each_kind_has_its_domain_and_address() {
        let of = |text| {
            let endpoint = Endpoint::parse(text, "address").unwrap();
            (endpoint.domain(), endpoint.to_socket_address().unwrap())
        };
        let (domain, address) = of("127.0.0.1:80");
        assert_eq!((domain, address.as_socket()), (Domain::IPV4, "127.0.0.1:80".parse().ok()));
        let (domain, address) = of("[::1]:80");
        assert_eq!((domain, address.as_socket()), (Domain::IPV6, "[::1]:80".parse().ok()));
        let (domain, address) = of("unix:/x");
        assert_eq!((domain, address.as_pathname()), (Domain::UNIX, Some("/x".as_ref())));
    }

    #[test]
    fn nonsense_is_one_sentence_with_what_is_expected() {
        let refusal =
            |text: &str| Endpoint::parse(text, "arms[1].address").unwrap_err().to_string();
        assert_eq!(
            refusal("localhost:80"),
            "arms[1].address is \"localhost:80\"; \
             expected ip:port, such as 127.0.0.1:8080 or [::1]:8080, or unix:/path"
        );
        assert_eq!(refusal("1.2.3.4:0"), "arms[1].address is 1.2.3.4:0; expected a port above 0");
        for text in ["", "127.0.0.1", "::1:80", "unix", "127.0.0.1:99999", "http://127.0.0.1:80"] {
            assert!(refusal(text).contains("; expected ip:port"), "{}", refusal(text));
        }
        for text in ["unix:", "unix:run/a.sock"] {
            assert!(refusal(text).ends_with("; expected unix: and a whole path, from / on"));
        }
        for path in ["/a\0b".to_owned(), "/".repeat(108)] {
            assert!(refusal(&format!("unix:{path}")).contains("107 bytes"), "{path}");
        }
        Endpoint::parse(&format!("unix:{}", "/".repeat(107)), "address").unwrap();
    }
}
