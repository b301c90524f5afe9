//! The rule as a table.

use super::*;
use crate::schedule::random::{hash, unit};

/// What the rule says after `change`: 1,000 requests in a second or two, all in order.
fn limit(is_open_loop: bool, change: impl Fn(&mut Evidence, &mut Ending)) -> LimitedBy {
    let mut evidence = Evidence {
        client_cpu_ratio: 0.2,
        client_wait_ratio: 0.02,
        busy_ratio: if is_open_loop { 0.1 } else { 1.0 },
        // What a closed loop loads has a queue, unless there is evidence that it has none.
        offered_per_s: 500.0,
        achieved_per_s: 500.0,
        service_inflation_ratio: if is_open_loop { 1.0 } else { 5.0 },
        unloaded_requests: 16.0,
        loaded_requests: 500.0,
        answer_gap_spread_ratio: 1.0,
        ..Evidence::default()
    };
    let mut failed = Ending::default();
    change(&mut evidence, &mut failed);
    let Ending { failed, starved, sessionless, is_silent } = failed;
    let is_answered = !is_silent;
    let busy_ratio = evidence.busy_ratio;
    verdict(&Case {
        is_open_loop,
        offered: 1000,
        failed,
        due: 1000,
        busy_ratio,
        starved,
        sessionless,
        completed: 1000 - failed,
        measured_s: 2.0,
        is_answered,
        evidence: &evidence,
    })
}

#[derive(Default)]
struct Ending {
    failed: u64,
    starved: u64,
    sessionless: u64,
    is_silent: bool,
}

fn closed(change: impl Fn(&mut Evidence)) -> LimitedBy {
    limit(false, |evidence, _| change(evidence))
}

fn open(change: impl Fn(&mut Evidence)) -> LimitedBy {
    limit(true, |evidence, _| change(evidence))
}

/// An open loop that had 440 a second of the 500 that it asked for.
fn short(change: impl Fn(&mut Evidence)) -> LimitedBy {
    open(|e| {
        e.achieved_per_s = 440.0;
        change(e);
    })
}

#[test]
fn in_a_closed_loop_it_is_the_server_unless_somebody_else_was_short() {
    assert_eq!(closed(|_| ()), LimitedBy::Server);
    assert_eq!(closed(|e| e.no_ports = 1.0), LimitedBy::Ports);
    assert_eq!(closed(|e| e.no_descriptors = 1.0), LimitedBy::Descriptors);
    assert_eq!(closed(|e| e.client_cpu_ratio = 0.95), LimitedBy::ClientCpu);
    assert_eq!(limit(false, |_, f| f.failed = 500), LimitedBy::Server);
    assert_eq!(closed(|e| e.busy_ratio = 0.3), LimitedBy::Rate, "users who think");
}

#[test]
fn where_nothing_right_came_nobody_is_the_limit_but_who_ran_out_of_something() {
    for is_open_loop in [false, true] {
        let told = |failed, change: fn(&mut Evidence)| {
            limit(is_open_loop, |e, f| {
                (e.client_cpu_ratio, e.waited_requests, e.achieved_per_s) = (1.0, 500.0, 0.0);
                (e.client_stolen_ratio, e.client_ready_ratio) = (0.27, 0.66);
                *f = Ending { failed, ..Ending::default() };
                change(e);
            })
        };
        assert_eq!(told(1000, |_| ()), LimitedBy::Nobody, "{is_open_loop}");
        assert_eq!(told(999, |_| ()), LimitedBy::ClientCpu, "one answer was right");
        assert_eq!(told(1000, |e| e.no_ports = 9.0), LimitedBy::Ports);
        assert_eq!(told(1000, |e| e.no_descriptors = 9.0), LimitedBy::Descriptors);
        let unconnected = |e: &mut Evidence| {
            (e.unanswered_connect_ratio, e.syn_retransmits) = (0.9, 9.0);
        };
        assert_eq!(told(1000, unconnected), LimitedBy::Nobody, "who hangs does not accept");
    }
}

#[test]
fn a_session_that_the_two_did_not_agree_on_is_not_the_servers_fault() {
    for is_open_loop in [false, true] {
        let told = |failed, sessionless| {
            limit(is_open_loop, |e, f| {
                e.achieved_per_s = 400.0;
                *f = Ending { failed, sessionless, ..Ending::default() };
            })
        };
        assert_eq!(told(200, 200), LimitedBy::Nobody, "{is_open_loop}");
        assert_eq!(told(200, 100), LimitedBy::Server, "others failed, too");
    }
}

#[test]
fn in_a_closed_loop_it_is_the_connections_where_there_is_evidence_that_nobody_waited() {
    let told = |inflation, spread, likeness, others| {
        closed(|e| {
            (e.service_inflation_ratio, e.service_spread_ratio) = (inflation, spread);
            (e.service_likeness_ratio, e.others_cpu_ratio) = (likeness, others);
            (e.loaded_requests, e.unloaded_requests, e.busy_connections) = (5000.0, 4.0, 16.0);
        })
    };
    assert_eq!(told(1.01, 0.03, 0.9, 0.1), LimitedBy::Connections, "constant, as when idle");
    assert_eq!(told(1.30, 0.03, 0.9, 0.1), LimitedBy::Server, "a few waited");
    for is_open_loop in [false, true] {
        let at_even_gaps = limit(is_open_loop, |e, _| {
            (e.service_inflation_ratio, e.service_spread_ratio) = (0.93, 0.03);
            (e.achieved_per_s, e.waited_requests) = (200.0, 500.0);
            e.answer_gap_spread_ratio = 0.02;
        });
        assert_eq!(
            at_even_gaps,
            LimitedBy::ServerOrConnections,
            "one after the other, and a cold one first"
        );
    }
    assert_eq!(
        told(0.50, 0.03, 0.9, 0.1),
        LimitedBy::ServerOrConnections,
        "the first ones were cold"
    );
    assert_eq!(
        told(0.00, 0.03, 0.0, 0.1),
        LimitedBy::ServerOrConnections,
        "there were no first ones"
    );
    assert_eq!(
        told(1.01, 0.07, 0.9, 1.0),
        LimitedBy::ServerOrConnections,
        "somebody has used a core up"
    );
    assert_eq!(
        told(1.30, 0.07, 0.9, 1.0),
        LimitedBy::ServerOrConnections,
        "that may be why they waited"
    );
    assert_eq!(told(1.01, 0.03, 0.9, 1.9), LimitedBy::Connections, "no CPU time is so even");
    assert_eq!(
        told(1.70, 1.00, 0.02, 1.0),
        LimitedBy::ServerOrConnections,
        "each by itself, of one core"
    );
    assert_eq!(told(1.70, 1.00, 0.02, 0.1), LimitedBy::Connections, "each by itself");
    assert_eq!(told(1.70, 1.00, 0.40, 0.1), LimitedBy::Server, "one queue");
    assert_eq!(told(16.0, 1.00, 0.02, 0.1), LimitedBy::Server, "slower than at first");
    assert_eq!(told(4.00, 1.00, 0.02, 0.1), LimitedBy::Connections, "four may be so by chance");
    assert_eq!(told(4.00, 0.30, 0.02, 0.1), LimitedBy::Server, "four that vary less may not");
    let risen = |likeness, others, risen, idle| {
        closed(|e| {
            (e.service_inflation_ratio, e.service_spread_ratio) = (0.9, 1.0);
            (e.service_likeness_ratio, e.loaded_requests) = (likeness, 5000.0);
            (e.others_cpu_ratio, e.others_risen_ratio) = (others, risen);
            e.idle_cpu_ratio = idle;
        })
    };
    assert_eq!(risen(0.4, 1.0, 0.9, 1.0), LimitedBy::Server, "one queue, and its core");
    assert_eq!(risen(0.4, 1.9, 1.5, 1.0), LimitedBy::Server, "of several");
    for (others, rise) in [(1.0, 0.4), (1.9, 0.9), (1.0, 0.0)] {
        let told = risen(0.4, others, rise, 0.2);
        assert_eq!(told, LimitedBy::ServerOrConnections, "{rise} of {others} cores are the load's");
    }
    assert_eq!(risen(0.0, 1.0, 1.0, 0.2), LimitedBy::Server, "this machine is used up for it");
    assert_eq!(risen(0.0, 1.0, 1.0, 1.0), LimitedBy::ServerOrConnections, "a core is left");
    let few = closed(|e| {
        (e.service_inflation_ratio, e.service_spread_ratio) = (1.7, 1.0);
        (e.loaded_requests, e.busy_connections) = (100.0, 16.0);
    });
    assert_eq!(
        few,
        LimitedBy::ServerOrConnections,
        "what begins together ends together for a while"
    );
}

#[test]
fn a_client_that_always_has_work_or_is_stopped_is_short_in_a_closed_loop() {
    for (cpu, wait, frozen, limited_by) in [
        (0.5, 0.45, 0.0, LimitedBy::ClientCpu),
        (0.1, 0.85, 0.0, LimitedBy::ClientCpu),
        (0.3, 0.0, 0.5, LimitedBy::ClientCpu),
        (0.05, 0.0, 0.11, LimitedBy::ClientCpu),
        (0.5, 0.2, 0.0, LimitedBy::Server),
        (0.05, 0.01, 0.05, LimitedBy::Server),
    ] {
        let told = closed(|e| {
            (e.client_cpu_ratio, e.client_wait_ratio) = (cpu, wait);
            e.client_frozen_ratio = frozen;
        });
        assert_eq!(told, limited_by, "{cpu} {wait} {frozen}");
    }
    // A core that the host runs others on: neither running nor in a queue.
    for (cpu, frozen, throttled, stolen, limited_by) in [
        (0.854, 0.071, 0.0, 0.0, LimitedBy::ClientCpu),
        (0.854, 0.0, 0.07, 0.0, LimitedBy::ClientCpu),
        (0.5, 0.02, 0.0, 0.45, LimitedBy::ClientCpu),
        (0.854, 0.02, 0.02, 0.02, LimitedBy::Server),
        (0.05, 0.02, 0.0, 0.5, LimitedBy::Server),
    ] {
        let told = closed(|e| {
            (e.client_cpu_ratio, e.client_wait_ratio) = (cpu, 0.006);
            (e.client_frozen_ratio, e.client_throttled_ratio) = (frozen, throttled);
            e.client_stolen_ratio = stolen;
        });
        assert_eq!(told, limited_by, "{cpu} {frozen} {throttled} {stolen}");
    }
    let stolen = |ready| closed(|e| (e.client_stolen_ratio, e.client_ready_ratio) = (0.19, ready));
    assert_eq!(stolen(0.9), LimitedBy::ClientCpu, "the answers were there");
    assert_eq!(stolen(0.1), LimitedBy::Server, "the server was no quicker");
    let waiting = |ready| closed(|e| (e.client_wait_ratio, e.client_ready_ratio) = (0.5, ready));
    assert_eq!(waiting(0.9), LimitedBy::ClientCpu, "the answers were there");
    assert_eq!(waiting(0.1), LimitedBy::Server, "the server was no quicker");
}

#[test]
fn in_an_open_loop_it_is_the_rate_unless_somebody_was_short() {
    assert_eq!(open(|_| ()), LimitedBy::Rate);
    assert_eq!(open(|e| e.client_cpu_ratio = 1.0), LimitedBy::Rate, "it spins before due times");
    assert_eq!(open(|e| e.client_frozen_ratio = 0.2), LimitedBy::Rate, "nobody noticed");
    assert_eq!(short(|e| e.late_requests = 90.0), LimitedBy::Rate, "the usual unrest");
    assert_eq!(short(|e| e.late_requests = 110.0), LimitedBy::ClientSchedule);
    assert_eq!(short(|e| e.waited_requests = 11.0), LimitedBy::Connections);
    let bursts = |e: &mut Evidence| (e.waited_requests, e.late_requests) = (11.0, 30.0);
    assert_eq!(short(bursts), LimitedBy::Rate);
    assert_eq!(limit(true, fails), LimitedBy::Server);
    assert_eq!(open(|e| e.no_ports = 1.0), LimitedBy::Ports);
}

fn fails(evidence: &mut Evidence, ending: &mut Ending) {
    (evidence.achieved_per_s, ending.failed) = (490.0, 20);
}

#[test]
fn a_rate_that_was_kept_is_the_limit_whoever_was_late() {
    let late = |achieved_per_s, busy| {
        open(|e| {
            (e.late_requests, e.waited_requests, e.client_wait_ratio) = (900.0, 300.0, 0.6);
            (e.achieved_per_s, e.busy_connections) = (achieved_per_s, busy);
        })
    };
    assert_eq!(late(500.0, 4.0), LimitedBy::Rate);
    assert_eq!(late(491.0, 4.0), LimitedBy::Rate, "18 of 1,000: a hundredth, and the last ones");
    assert_eq!(late(485.0, 4.0), LimitedBy::ClientCpu);
    assert_eq!(late(485.0, 16.0), LimitedBy::Rate, "so many were under way all the time");
    assert_eq!(late(400.0, 50.0), LimitedBy::ClientCpu, "a queue grew");
}

#[test]
fn cpus_that_others_used_up_are_not_the_clients() {
    for is_open_loop in [false, true] {
        let told = |cpu, wait, others, idle| {
            limit(is_open_loop, |e, _| {
                (e.client_cpu_ratio, e.client_wait_ratio) = (cpu, wait);
                (e.others_cpu_ratio, e.idle_cpu_ratio) = (others, idle);
                (e.client_ready_ratio, e.late_requests) = (0.7, 400.0);
                e.achieved_per_s = 300.0;
            })
        };
        assert_eq!(told(0.023, 0.4, 1.7, 0.1), LimitedBy::MachineCpu, "{is_open_loop}");
        assert_eq!(told(0.6, 0.4, 1.2, 0.1), LimitedBy::ClientCpu, "it used more than it lost");
        assert_eq!(told(0.1, 0.85, 1.0, 0.9), LimitedBy::ClientCpu, "another core was free");
        let throttled = limit(is_open_loop, |e, _| {
            (e.client_cpu_ratio, e.client_wait_ratio) = (0.02, 0.82);
            (e.client_frozen_ratio, e.client_throttled_ratio) = (0.65, 0.7);
            (e.others_cpu_ratio, e.late_requests, e.achieved_per_s) = (1.98, 400.0, 300.0);
        });
        assert_eq!(throttled, LimitedBy::ClientCpu, "its quota was what it waited for");
    }
}

#[test]
fn a_late_client_is_named_with_what_it_lacked() {
    for (cpu, wait, frozen, limited_by) in [
        (1.0, 0.0, 0.0, LimitedBy::ClientCpu),
        (0.5, 0.45, 0.0, LimitedBy::ClientCpu),
        (0.1, 0.2, 0.0, LimitedBy::ClientCpu),
        (0.1, 0.0, 0.06, LimitedBy::ClientCpu),
        (0.1, 0.01, 0.0, LimitedBy::ClientSchedule),
    ] {
        let told = open(|e| {
            (e.client_cpu_ratio, e.client_wait_ratio) = (cpu, wait);
            (e.client_frozen_ratio, e.late_requests) = (frozen, 300.0);
            e.achieved_per_s = 440.0;
        });
        assert_eq!(told, limited_by, "{cpu} {wait} {frozen}");
    }
    let stolen = short(|e| (e.client_stolen_ratio, e.late_requests) = (0.06, 300.0));
    assert_eq!(stolen, LimitedBy::ClientCpu);
}

#[test]
fn the_server_is_never_named_where_the_client_was_short() {
    let saturated = |e: &mut Evidence, f: &mut Ending| {
        (e.waited_requests, e.service_inflation_ratio) = (900.0, 30.0);
        (e.achieved_per_s, f.failed) = (200.0, 100);
    };
    assert_eq!(limit(true, saturated), LimitedBy::Server);
    let shortages: [fn(&mut Evidence); 5] = [
        |e| (e.client_wait_ratio, e.client_ready_ratio) = (0.25, 0.6),
        |e| e.client_throttled_ratio = 0.3,
        |e| e.client_cpu_ratio = 0.92,
        |e| e.client_wait_ratio = 0.75,
        |e| e.client_frozen_ratio = 0.12,
    ];
    for shortage in shortages {
        for is_open_loop in [false, true] {
            let told = limit(is_open_loop, |evidence, failed| {
                saturated(evidence, failed);
                shortage(evidence);
            });
            assert_eq!(told, LimitedBy::ClientCpu);
        }
    }
    let more_late_than_waiting = limit(true, |evidence, failed| {
        saturated(evidence, failed);
        (evidence.waited_requests, evidence.late_requests) = (300.0, 500.0);
    });
    assert_eq!(more_late_than_waiting, LimitedBy::ClientSchedule);
}

#[test]
fn a_wait_for_connections_is_the_servers_fault_only_if_it_is_the_slower_for_it() {
    for (inflation, n_unloaded, limited_by) in [
        (4.0, 16.0, LimitedBy::Server),
        (2.5, 16.0, LimitedBy::Server),
        (1.1, 16.0, LimitedBy::Connections),
        // There were none to compare with, or they were cold ones.
        (0.0, 0.0, LimitedBy::ServerOrConnections),
        (0.5, 16.0, LimitedBy::ServerOrConnections),
        (4.0, 1.0, LimitedBy::Server),
    ] {
        let told = limit(true, |e, f| {
            (e.waited_requests, e.achieved_per_s) = (500.0, 300.0);
            (e.service_inflation_ratio, e.unloaded_requests) = (inflation, n_unloaded);
            // Given up while they waited: no fault of the server by itself.
            (f.failed, f.starved) = (200, 200);
        });
        assert_eq!(told, limited_by, "{inflation} by {n_unloaded}");
    }
    let starved = |e: &mut Evidence, f: &mut Ending| {
        (e.achieved_per_s, f.failed, f.starved) = (490.0, 20, 20);
    };
    assert_eq!(limit(true, starved), LimitedBy::Connections);
}

#[test]
fn few_first_requests_that_vary_by_themselves_are_no_queue() {
    const DRAWS: u64 = 10_000;
    let exponential = |seed, n| -(1.0 - unit(hash(seed, 0, n))).ln();
    for few in [1, 2, 4, 16] {
        let is_queue = |seed| {
            let light = (0..few).map(|n| exponential(seed, n)).sum::<f64>() / few as f64;
            is_queueing(&Evidence {
                service_inflation_ratio: 1.0 / light,
                service_spread_ratio: 1.0,
                unloaded_requests: few as f64,
                loaded_requests: 500.0,
                ..Evidence::default()
            })
        };
        let wrong = (0..DRAWS).filter(|&seed| is_queue(seed)).count();
        // Twice the standard error is exceeded on one side in 2.3 %.
        assert!(wrong as f64 <= 0.025 * DRAWS as f64, "{wrong} of {DRAWS} by {few}");
    }
}

#[test]
fn a_queue_that_grows_inside_the_server_shows_in_what_it_is_behind_by() {
    let behind =
        |inflation| open(|e| (e.achieved_per_s, e.service_inflation_ratio) = (300.0, inflation));
    assert_eq!(behind(5.0), LimitedBy::Server);
    assert_eq!(behind(1.0), LimitedBy::Rate, "the last answers come after the end");
}

#[test]
fn the_network_is_named_by_our_own_connections_and_the_hosts_counters_together() {
    let unconnected = |e: &mut Evidence| e.unanswered_connect_ratio = 0.9;
    let confirmations: [fn(&mut Evidence); 3] =
        [|e| e.listen_overflows = 3.0, |e| e.listen_drops = 3.0, |e| e.syn_retransmits = 3.0];
    for confirm in confirmations {
        for is_open_loop in [false, true] {
            let told = limit(is_open_loop, |evidence, failed| {
                unconnected(evidence);
                confirm(evidence);
                (evidence.achieved_per_s, failed.failed) = (475.0, 50);
            });
            assert_eq!(told, LimitedBy::Network);
        }
        // Somebody else's connections.
        assert_eq!(open(confirm), LimitedBy::Rate);
        assert_eq!(closed(confirm), LimitedBy::Server);
    }
    assert_eq!(closed(unconnected), LimitedBy::Server, "no counter confirms it");
    // A closed loop's other connections may keep the client busy meanwhile.
    let busy = |e: &mut Evidence| {
        (e.unanswered_connect_ratio, e.listen_overflows, e.client_cpu_ratio) = (0.9, 3.0, 0.97);
    };
    assert_eq!(closed(busy), LimitedBy::Network);
    let alone = |e: &mut Evidence| (e.unanswered_connect_ratio, e.client_cpu_ratio) = (0.9, 0.97);
    assert_eq!(closed(alone), LimitedBy::ClientCpu, "no counter confirms it");
}

#[test]
fn lost_segments_are_told_from_a_slow_server() {
    let lossy = |long_answers, resent| {
        closed(|e| {
            (e.long_answers, e.long_answer_ratio) = (long_answers, 0.9);
            e.tcp_retransmits = resent;
        })
    };
    assert_eq!(lossy(50.0, 60.0), LimitedBy::Network);
    assert_eq!(lossy(50.0, 10.0), LimitedBy::Server, "most had another reason");
    assert_eq!(lossy(900.0, 1000.0), LimitedBy::Server, "all are slow");
}
