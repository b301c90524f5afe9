//! What the latency of a completed request consists of.

use serde::Serialize;

use super::ended::Ended;
use super::histogram::{Coarse, Distribution};
use super::message;

/// The five phases of the measured requests that completed, to two significant digits.
///
/// Their `sum_ns` add up to the sum of these requests' latencies, to the nanosecond.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Phases {
    /// From the due time until a connection took the request up; 0 in a closed loop.
    #[serde(skip_serializing_if = "message::is_default")]
    pub client_queue: Distribution,
    /// Until the connection was made, of the requests that opened one.
    #[serde(skip_serializing_if = "message::is_default")]
    pub connect: Distribution,
    /// The TLS handshake, of the requests that opened a connection with TLS.
    #[serde(skip_serializing_if = "message::is_default")]
    pub tls: Distribution,
    /// Until the first byte of the answer, writing the request included.
    #[serde(skip_serializing_if = "message::is_default")]
    pub first_byte: Distribution,
    /// Until the last byte of the answer.
    #[serde(skip_serializing_if = "message::is_default")]
    pub transfer: Distribution,
}

/// Records them.
#[derive(Debug)]
pub(crate) struct PhaseRecorder {
    client_queue: Coarse,
    connect: Coarse,
    tls: Coarse,
    first_byte: Coarse,
    transfer: Coarse,
}

impl PhaseRecorder {
    pub(super) fn new() -> Self {
        Self {
            client_queue: Coarse::new(),
            connect: Coarse::new(),
            tls: Coarse::new(),
            first_byte: Coarse::new(),
            transfer: Coarse::new(),
        }
    }

    #[inline]
    pub(super) fn record(&mut self, request: &Ended) {
        // Each phase begins where the one before ended, never later than the request ended: so
        // they add up whatever the clock was read for.
        let mut at_ns = request.base_ns.min(request.end_ns);
        let mut until = |instant_ns: u64| {
            let next_ns = instant_ns.clamp(at_ns, request.end_ns);
            let phase_ns = next_ns - at_ns;
            at_ns = next_ns;
            phase_ns
        };
        self.client_queue.record(until(request.issued_ns.unwrap_or(request.base_ns)));
        if let Some(connected_ns) = request.connected_ns {
            self.connect.record(until(connected_ns));
        }
        if let Some(secured_ns) = request.secured_ns {
            self.tls.record(until(secured_ns));
        }
        self.first_byte.record(until(request.first_byte_ns.unwrap_or(request.end_ns)));
        self.transfer.record(until(request.end_ns));
    }

    /// Time that the requests spent on connections: all phases but the queue.
    pub(super) fn on_connections_ns(&self) -> u128 {
        let phases = [&self.connect, &self.tls, &self.first_byte, &self.transfer];
        phases.into_iter().map(Coarse::sum_ns).sum()
    }

    pub(super) fn reset(&mut self) {
        for phase in self.each_mut() {
            phase.reset();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.client_queue.merge(&other.client_queue);
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.first_byte.merge(&other.first_byte);
        self.transfer.merge(&other.transfer);
    }

    fn each_mut(&mut self) -> [&mut Coarse; 5] {
        let Self { client_queue, connect, tls, first_byte, transfer } = self;
        [client_queue, connect, tls, first_byte, transfer]
    }

    pub(crate) fn phases(&self) -> Phases {
        Phases {
            client_queue: self.client_queue.distribution(),
            connect: self.connect.distribution(),
            tls: self.tls.distribution(),
            first_byte: self.first_byte.distribution(),
            transfer: self.transfer.distribution(),
        }
    }
}

impl Phases {
    /// The phases in their order, by name.
    pub const fn each(&self) -> [(&'static str, &Distribution); 5] {
        [
            ("client_queue", &self.client_queue),
            ("connect", &self.connect),
            ("tls", &self.tls),
            ("first_byte", &self.first_byte),
            ("transfer", &self.transfer),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(request: Ended) -> [u128; 5] {
        let mut recorder = PhaseRecorder::new();
        recorder.record(&request);
        recorder.phases().each().map(|(_, phase)| phase.sum_ns)
    }

    #[test]
    fn each_phase_is_from_the_instant_before_to_its_own() {
        let opened = Ended {
            base_ns: 100,
            issued_ns: Some(101),
            connected_ns: Some(103),
            secured_ns: Some(107),
            written_ns: Some(108),
            first_byte_ns: Some(115),
            end_ns: 131,
            ..Ended::default()
        };
        assert_eq!(sums(opened), [1, 2, 4, 8, 16]);
        let kept = Ended { connected_ns: None, secured_ns: None, ..opened };
        assert_eq!(sums(kept), [1, 0, 0, 14, 16]);
        let mut recorder = PhaseRecorder::new();
        recorder.record(&kept);
        let counts = recorder.phases().each().map(|(_, phase)| phase.count);
        assert_eq!(counts, [1, 0, 0, 1, 1], "what did not happen is not counted as instant");
        assert_eq!(recorder.on_connections_ns(), 30);
    }

    proptest! {
        #[test]
        fn they_add_up_whatever_the_instants(
            base_ns in 0..100_u64,
            issued_ns in prop::option::of(0..100_u64),
            connected_ns in prop::option::of(0..100_u64),
            secured_ns in prop::option::of(0..100_u64),
            first_byte_ns in prop::option::of(0..100_u64),
            age_ns in 0..100_u64,
        ) {
            let request = Ended {
                base_ns,
                issued_ns,
                connected_ns,
                secured_ns,
                first_byte_ns,
                end_ns: base_ns + age_ns,
                ..Ended::default()
            };
            prop_assert_eq!(sums(request).iter().sum::<u128>(), u128::from(age_ns));
        }
    }
}
