//! What is counted, and that nothing of it is left over.

use super::*;
use crate::count::occupancy::SYN_RETRY_NS;
use crate::count::punctuality::LATE_NS;
use crate::schedule::Model;

#[test]
fn a_reset_tally_is_as_new() {
    let capacity = Capacity { n_requests: 2, has_slow: true, n_traced: 4, n_connections: 2 };
    let plan = Plan {
        index: 0,
        arm: 0,
        opened_ns: 0,
        measure_start_ns: 0,
        measure_end_ns: 1_000_000_000,
        n_requests: 0,
        drain_ns: 0,
        model: Model::Open,
        spread_ns: 0,
        tail_ns: 0,
        is_entrance: false,
    };
    let mut tally = Tally::new(&capacity);
    let outcomes = [Ok(()), Err(ErrorKind::Timeout), Err(ErrorKind::ConnectTimeout)];
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let begun_ns = 1_000 * (index as u64 + 1);
        let is_slow = index > 0;
        tally.offer(true, 1, is_slow);
        let blocked_since_ns = is_slow.then_some(begun_ns);
        tally.punctuality.take_up(begun_ns, begun_ns + 2 * LATE_NS, blocked_since_ns);
        tally.take_up(begun_ns, true);
        tally.turn(begun_ns, 1);
        tally.receive(10, is_slow);
        let request = Ended {
            base_ns: begun_ns,
            issued_ns: Some(begun_ns),
            written_ns: (index < 2).then_some(begun_ns),
            end_ns: begun_ns + 2 * SYN_RETRY_NS,
            is_measured: true,
            request: 1,
            is_slow,
            ..Ended::default()
        };
        tally.end(&plan, &request, outcome);
        tally.page_offer(true);
        tally.page_end(true, 5, PageEnd::of_part(outcome));
        tally.published(begun_ns);
    }
    let as_text = |tally: &Tally| format!("{tally:?}");
    let new = as_text(&Tally::new(&capacity));
    assert!(as_text(&tally) != new && tally.occupancy.slow_busy_ns > 0);
    assert!(tally.punctuality.due == 3);
    tally.reset();
    let reset = as_text(&tally);
    let differs = reset.bytes().zip(new.bytes()).position(|(a, b)| a != b);
    // The texts are long: what comes before the difference tells enough.
    let before = |at: usize| reset[at.saturating_sub(60)..=at].to_owned();
    assert_eq!(differs.map(before), None);
}
