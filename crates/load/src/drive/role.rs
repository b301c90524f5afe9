//! Which part of a run is a thread's.

use crate::input::LoadSpec;

/// What a thread is, for good.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Role {
    pub(crate) thread: usize,
    pub(crate) n_threads: usize,
    /// Users in a closed loop, else connections to each arm.
    pub(crate) n_connections: usize,
}

impl Role {
    /// One of so many threads, which share the connections as evenly as they can.
    pub(crate) fn of(spec: &LoadSpec, thread: usize, n_threads: usize) -> Self {
        let role = Self { thread, n_threads, n_connections: 0 };
        Self { n_connections: role.part_of(spec.connections), ..role }
    }

    /// The thread's part of so many things, which all of them share.
    pub(super) fn part_of(self, n: usize) -> usize {
        n / self.n_threads + usize::from(self.thread < n % self.n_threads)
    }

    /// The number over all threads of the thread's `index`-th thing of a kind.
    #[inline]
    pub(super) const fn number(self, index: u64) -> u64 {
        index * self.n_threads as u64 + self.thread as u64
    }

    /// The CPU to stay on, if there is one for it.
    pub(super) fn cpu(self, spec: &LoadSpec) -> Option<usize> {
        (!spec.cpus.is_empty()).then(|| spec.cpus[self.thread % spec.cpus.len()])
    }
}
