//! Why requests failed, where more is known than the kind of error.

use serde::{Serialize, Serializer};

use super::outcome::ErrorKind;

/// A word that readers put into a sentence, and what belongs into it.
pub type Reason = (&'static str, String);

/// Of each kind of error the first reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons(Vec<(ErrorKind, Reason)>);

impl Reasons {
    /// The first reason for a kind of error.
    pub fn of(&self, kind: ErrorKind) -> Option<&Reason> {
        self.0.iter().find(|(of, _)| *of == kind).map(|(_, reason)| reason)
    }

    /// A request fails for this reason.
    #[cold]
    pub(crate) fn note(&mut self, kind: ErrorKind, reason: impl FnOnce() -> Reason) {
        if self.of(kind).is_none() {
            self.0.push((kind, reason()));
        }
    }

    pub(super) fn reset(&mut self) {
        self.0.clear();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (kind, reason) in &other.0 {
            self.note(*kind, || reason.clone());
        }
    }
}

impl Serialize for Reasons {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(kind, reason)| (kind.name(), reason)))
    }
}
