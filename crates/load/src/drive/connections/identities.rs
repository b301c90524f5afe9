//! What a request shows of the user who sends it: a number, and cookies.

use std::ops::Range;

use crate::drive::ids::{Table, UserId};
use crate::http::Jar;

/// Who a user is to the server.
#[derive(Debug, Default)]
pub(super) struct Identity {
    /// A number of its own in the run.
    pub(super) number: u64,
    pub(super) jar: Jar,
}

/// The users of all arms, by their places.
#[derive(Debug)]
pub(super) struct Identities(Vec<Table<UserId, Identity>>);

impl Identities {
    /// For each arm as many as `numbers` has.
    pub(super) fn new(n_arms: usize, numbers: &Range<u64>) -> Self {
        let of_arm =
            || Table::of(numbers.clone().map(|number| Identity { number, ..Identity::default() }));
        Self((0..n_arms).map(|_| of_arm()).collect())
    }

    #[inline]
    pub(super) fn of_mut(&mut self, arm: usize, user: UserId) -> &mut Identity {
        &mut self.0[arm][user]
    }
}
