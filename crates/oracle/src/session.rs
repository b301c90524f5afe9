//! The sessions of `/session`: who has come before, and how often.

use std::collections::HashMap;

use crate::service::Rng;
use crate::stats::Session;

/// How many sessions are known at most; who comes later gets no cookie.
const MAX_SESSIONS: usize = 1 << 20;

/// The sessions begun so far.
#[derive(Debug)]
pub(crate) struct Sessions {
    rng: Rng,
    places: HashMap<u64, usize>,
    /// Identity and requests, in order of creation.
    begun: Vec<(u64, u64)>,
}

impl Sessions {
    pub(crate) fn new(seed: u64) -> Self {
        // Not the service times' numbers, which must not depend on who has a cookie.
        let rng = Rng::new(seed ^ 0x7365_7373_696f_6e73);
        Self { rng, places: HashMap::new(), begun: Vec::new() }
    }

    /// Count a request that brings this identity; return whether it is known.
    pub(crate) fn visit(&mut self, id: u64) -> bool {
        let Some(place) = self.places.get(&id) else { return false };
        self.begun[*place].1 += 1;
        true
    }

    /// Begin a session with the request that asks for one; return its identity.
    pub(crate) fn begin(&mut self) -> Option<u64> {
        if self.begun.len() >= MAX_SESSIONS {
            return None;
        }
        let id = self.rng.next();
        self.places.insert(id, self.begun.len());
        self.begun.push((id, 1));
        Some(id)
    }

    pub(crate) fn all(&self) -> Vec<Session> {
        let sessions = self.begun.iter();
        sessions.map(|(id, requests)| Session { id: name(*id), requests: *requests }).collect()
    }
}

/// An identity as its cookie has it.
pub(crate) fn name(id: u64) -> String {
    format!("{id:016x}")
}

/// The identity in a `Cookie` field: the first `sid` of sixteen hexadecimal digits.
pub(crate) fn identity(cookies: &str) -> Option<u64> {
    let mut values = cookies.split(';').filter_map(|pair| pair.trim().strip_prefix("sid="));
    let id = values.find(|value| value.len() == 16)?;
    // A sign is no digit, but `from_str_radix` takes one.
    id.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u64::from_str_radix(id, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_by_its_cookie_alone() {
        let mut sessions = Sessions::new(1);
        let first = sessions.begin().unwrap();
        let second = sessions.begin().unwrap();
        assert_ne!(first, second);
        assert!(sessions.visit(first) && sessions.visit(first) && !sessions.visit(first ^ 1));
        let told: Vec<_> = sessions.all().into_iter().map(|s| (s.id, s.requests)).collect();
        assert_eq!(told, [(name(first), 3), (name(second), 1)]);
    }

    #[test]
    fn the_identity_is_found_among_other_cookies() {
        assert_eq!(identity("sid=00000000000000ff"), Some(255));
        assert_eq!(identity("a=b; sid=00000000000000ff; c=d"), Some(255));
        for cookies in ["", "sid=", "sid=ff", "xsid=00000000000000ff", "sid=+0000000000000ff"] {
            assert_eq!(identity(cookies), None, "{cookies}");
        }
    }
}
