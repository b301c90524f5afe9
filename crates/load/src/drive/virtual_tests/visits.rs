//! Visits of several steps, pages with their objects, and what users carry along.

use crate::count::ErrorKind;
use crate::drive::virtual_rig::{
    MS, Outcome, Reply, World, answer, counted, run_all, run_one, window,
};
use crate::input::{
    Arm, Arrival, Length, LoadSpec, Request, Stage, Step, Think, Users, Window, example,
};

/// A page of a document `/doc` and so many objects, over so many connections.
fn page(n_objects: usize, connections_per_page: usize) -> Arm {
    let mut requests = vec![Request::get("h", "/doc")];
    requests.extend((1..=n_objects).map(|n| Request::get("h", &format!("/{n}"))));
    Arm {
        steps: vec![Step { weight: 1.0, request: 0, objects: (1..=n_objects).collect() }],
        connections_per_page,
        ..Arm::new("127.0.0.1:80", requests)
    }
}

fn one_user(arm: Arm) -> LoadSpec {
    LoadSpec { arms: vec![arm], connections: 1, windows: vec![counted(1)], ..example() }
}

/// When each request came, in milliseconds after the opening.
fn sent_ms(world: &World, outcome: &Outcome) -> Vec<(String, u64)> {
    let of = |at_ns| outcome.since_opening(at_ns) / MS;
    world.log().into_iter().map(|seen| (seen.path, of(seen.at_ns))).collect()
}

fn of_path(path: &str) -> Reply {
    Reply::After(if path == "/doc" { 10 * MS } else { 4 * MS })
}

#[test]
fn a_pages_objects_come_side_by_side_once_the_document_is_there() {
    for (connections, ends_ms) in
        [(1, [10, 14, 18, 22, 26]), (2, [10, 10, 14, 14, 18]), (3, [10, 10, 10, 14, 14])]
    {
        let world = World::new(|seen| of_path(&seen.path));
        let outcome = run_one(&world, &one_user(page(5, connections)));
        let sent = sent_ms(&world, &outcome);
        assert_eq!(sent[0], ("/doc".to_owned(), 0));
        let expected: Vec<_> = (1..=5).map(|n| (format!("/{n}"), ends_ms[n - 1])).collect();
        assert_eq!(sent[1..], expected, "{connections} connections");
        let pages = outcome.tally.pages.counts();
        assert_eq!((pages.offered, pages.completed), (1, 1));
        assert_eq!(
            pages.time.sum_ns,
            u128::from((ends_ms[4] + 4) * MS),
            "{connections} connections"
        );
        assert_eq!(outcome.tally.sockets.connects, connections as u64);
    }
}

#[test]
fn a_user_keeps_a_pages_connections_for_the_next_one() {
    let world = World::new(|seen| of_path(&seen.path));
    let spec = LoadSpec { windows: vec![counted(5)], ..one_user(page(5, 3)) };
    let outcome = run_one(&world, &spec);
    assert_eq!((outcome.tally.pages.completed, outcome.tally.sockets.connects), (5, 3));
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 5 * 18 * MS);
}

#[test]
fn a_page_without_its_document_asks_for_nothing_more() {
    let failing = Reply::Answer { after_ns: MS, status: 500, headers: "", body: 0 };
    let world = World::new(move |_| failing.clone());
    let outcome = run_one(&world, &one_user(page(5, 3)));
    assert_eq!(world.log().len(), 1);
    assert_eq!(outcome.tally.errors.of(ErrorKind::WrongStatus), 1);
    let pages = outcome.tally.pages.counts();
    assert_eq!((pages.offered, pages.failed, pages.time.count), (1, 1, 0));
}

#[test]
fn a_page_with_a_failing_object_fails_and_the_others_come() {
    let world = World::new(|seen| match seen.path.as_str() {
        "/2" => Reply::Reset(MS),
        path => of_path(path),
    });
    let outcome = run_one(&world, &one_user(page(5, 1)));
    assert_eq!(world.log().len(), 6);
    assert_eq!((outcome.tally.completed, outcome.tally.pages.failed), (5, 1));
}

#[test]
fn a_page_that_nobody_had_a_connection_for_failed_and_took_at_least_as_long() {
    let world = World::new(|_| Reply::Silence);
    let spec = LoadSpec {
        arrival: Arrival::constant(200.0),
        windows: vec![window(0.0, 0.1)],
        drain_s: 0.05,
        ..one_user(page(1, 1))
    };
    let outcome = run_one(&world, &spec);
    let pages = outcome.tally.pages.counts();
    assert_eq!((pages.offered, pages.completed, pages.failed), (20, 0, 20));
    assert_eq!((pages.time.count, pages.censored.count), (20, 20));
    // The first was given up after the drain, the others at the window's end.
    let ages_ms: u64 = 150 + (1..20).map(|n| 100 - 5 * n).sum::<u64>();
    assert_eq!(pages.time.sum_ns, u128::from(ages_ms * MS));
    assert_eq!(pages.time.sum_ns, pages.censored.sum_ns);
}

/// Sessions of three steps, which begin at random for half a second: 20 a second in the mean.
fn sessions(think: Think) -> LoadSpec {
    let stages = vec![Stage { duration_s: 0.5, from_per_s: 20.0, to_per_s: 20.0 }];
    LoadSpec {
        arrival: Arrival::Sessions { stages },
        users: Users { visit: Length::Fixed(3), think, n_returning: 4, ..Users::PLAIN },
        connections: 50,
        windows: vec![window(0.0, 5.0)],
        ..example()
    }
}

#[test]
fn a_sessions_steps_are_due_a_pause_after_the_answer_before() {
    let world = World::new(|_| Reply::After(7 * MS));
    let outcome = run_one(&world, &sessions(Think::Fixed { s: 0.02 }));
    let log = world.log();
    assert!(log.len() > 9);
    assert_eq!(outcome.tally.visits.started * 3, log.len() as u64);
    assert_eq!(outcome.tally.visits.finished, outcome.tally.visits.started);
    let mut by_connection = vec![Vec::new(); world.n_sockets()];
    for seen in &log {
        by_connection[seen.connection].push(seen.at_ns);
    }
    for steps in &by_connection {
        // A visitor comes with a fresh connection, and takes it along.
        assert_eq!(steps.len(), 3);
        assert!(steps.windows(2).all(|two| two[1] - two[0] == 27 * MS), "{steps:?}");
    }
    assert_eq!(outcome.n_open, 0);
    assert_eq!(outcome.latencies_ns(), vec![7 * MS; log.len()]);
    assert_eq!(outcome.tally.punctuality.due, log.len() as u64, "each step is due once");
}

#[test]
fn who_loses_patience_leaves_the_rest_of_the_visit() {
    let world =
        World::new(|seen| if seen.nth_there == 1 { Reply::Silence } else { Reply::After(0) });
    let spec = LoadSpec { timeout_s: 0.05, ..sessions(Think::None) };
    let outcome = run_one(&world, &spec);
    let visits = &outcome.tally.visits;
    assert_eq!((visits.left, visits.finished), (visits.started, 0));
    assert_eq!(outcome.tally.errors.of(ErrorKind::Timeout), visits.started);
    assert_eq!(world.log().len() as u64, 2 * visits.started, "nobody asked a third time");
}

#[test]
fn each_users_cookie_goes_back_to_the_server_and_to_nobody_else() {
    let world = World::new(|seen| {
        // Says who it is by the connection: a user of a closed loop stays on its own.
        let headers = ["Set-Cookie: s=zero\r\n", "Set-Cookie: s=one\r\n", "Set-Cookie: s=two\r\n"];
        Reply::Answer { after_ns: MS, status: 200, headers: headers[seen.connection], body: 0 }
    });
    let spec = LoadSpec {
        connections: 3,
        users: Users { has_cookies: true, ..Users::PLAIN },
        windows: vec![counted(30)],
        ..example()
    };
    run_one(&world, &spec);
    for seen in world.log() {
        let cookie = ["Cookie: s=zero\r\n", "Cookie: s=one\r\n", "Cookie: s=two\r\n"];
        let has = |cookie: &str| seen.text.contains(cookie);
        assert_eq!(has("Cookie:"), seen.nth_there > 0, "{}", seen.text);
        assert_eq!(has(cookie[seen.connection]), seen.nth_there > 0, "{}", seen.text);
    }
}

#[test]
fn a_cookie_is_sent_until_its_time_is_over_and_no_longer() {
    // Of one that lasts a second, set after 1 ms, by its age and by a date.
    for header in
        ["Set-Cookie: s=1; Max-Age=1\r\n", "Set-Cookie: s=1; Expires=09 Sep 2001 01:46:42 GMT\r\n"]
    {
        let world = World::new(move |seen| {
            let headers = if seen.index == 0 { header } else { "" };
            Reply::Answer { after_ns: MS, status: 200, headers, body: 0 }
        });
        let spec = LoadSpec {
            connections: 1,
            users: Users { has_cookies: true, think: Think::Fixed { s: 0.398 }, ..Users::PLAIN },
            windows: vec![counted(6)],
            ..example()
        };
        let outcome = run_one(&world, &spec);
        let (log, at_ms) = (world.log(), |at_ns| outcome.since_opening(at_ns) / MS);
        let sent = log.iter().map(|seen| (at_ms(seen.at_ns), seen.text.contains("Cookie: s=1")));
        let sent: Vec<_> = sent.collect();
        let expected = [(0, false), (399, true), (798, true), (1197, false), (1596, false)];
        assert_eq!(sent[..5], expected, "{header}");
    }
}

#[test]
fn large_cookies_are_kept_and_those_that_are_too_large_are_counted() {
    let cookie = |name: char, n_bytes| format!("Set-Cookie: {name}={}\r\n", "x".repeat(n_bytes));
    let headers = [cookie('a', 3000), cookie('b', 3000), cookie('c', 5000)].concat();
    let world = World::new(move |_| Reply::Pieces(vec![(MS, answer(200, &headers, 0))]));
    let spec = LoadSpec {
        users: Users { has_cookies: true, ..Users::PLAIN },
        connections: 1,
        windows: vec![counted(2)],
        ..example()
    };
    let outcome = run_one(&world, &spec);
    let sent: Vec<_> = world.log()[1].text.split(['=', ' ']).map(str::to_owned).collect();
    assert!(sent.contains(&"a".to_owned()) && sent.contains(&"b".to_owned()), "{sent:?}");
    assert_eq!((sent.contains(&"c".to_owned()), outcome.tally.lost_cookies), (false, 2));
}

#[test]
fn a_cookie_of_one_arm_does_not_go_to_another() {
    let world = World::new(|seen| {
        let headers = if seen.path == "/0" { "Set-Cookie: s=zero\r\n" } else { "" };
        Reply::Answer { after_ns: MS, status: 200, headers, body: 0 }
    });
    let arm = |path: &str| Arm::new("127.0.0.1:80", vec![Request::get("h", path)]);
    let on = |arm| Window { arm, ..counted(10) };
    let spec = LoadSpec {
        arms: vec![arm("/1"), arm("/0")],
        users: Users { has_cookies: true, ..Users::PLAIN },
        windows: vec![on(0), on(1), on(0), on(1)],
        ..example()
    };
    run_all(&world, &spec);
    let with_cookie: Vec<bool> =
        world.log().iter().map(|seen| seen.text.contains("Cookie: s=zero")).collect();
    let first_of = |first: bool| [vec![first; 2], vec![true; 8]].concat();
    let expected = [vec![false; 10], first_of(false), vec![false; 10], first_of(true)].concat();
    assert_eq!(with_cookie, expected);
}

#[test]
fn a_replay_sends_what_the_log_says_when_it_says() {
    let requests = ["/a", "/b", "/c"].map(|path| Request::get("h", path)).to_vec();
    let offsets_ns = [0, 5 * MS, 5 * MS, 123 * MS, 400 * MS];
    let arrival = Arrival::Replay { offsets_ns: offsets_ns.into(), steps: [2, 0, 0, 1, 2].into() };
    let spec = LoadSpec {
        arms: vec![Arm::new("127.0.0.1:80", requests)],
        arrival,
        windows: vec![window(0.0, f64::INFINITY)],
        ..example()
    };
    let world = World::new(|_| Reply::After(MS));
    let outcome = run_one(&world, &spec);
    let expected = [("/c", 0), ("/a", 5), ("/a", 5), ("/b", 123), ("/c", 400)];
    assert_eq!(sent_ms(&world, &outcome), expected.map(|(path, at)| (path.to_owned(), at)));
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 401 * MS);
}
