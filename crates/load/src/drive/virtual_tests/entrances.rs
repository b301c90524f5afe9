//! First steps, which each user does once, and steps in their given order.

use crate::count::ErrorKind;
use crate::drive::virtual_rig::{MS, Reply, World, counted, run_all, window};
use crate::input::{Arm, Length, LoadSpec, Order, Request, Think, Users, Window, example};

fn requests(paths: &[&str]) -> Vec<Request> {
    paths.iter().map(|path| Request::get("h", path)).collect()
}

/// Users with jars who log in, accept, and then ask for `/list`.
fn with_login(connections: usize) -> LoadSpec {
    let login = Request {
        method: "POST".to_owned(),
        expect_status: 302,
        ..Request::get("h", "/login/user{user}/")
    };
    let first = vec![login, Request::get("h", "/accept")];
    LoadSpec {
        arms: vec![Arm { first, ..Arm::new("127.0.0.1:80", requests(&["/list"])) }],
        users: Users { has_cookies: true, ..Users::PLAIN },
        connections,
        windows: vec![window(0.0, 0.1), window(0.0, 0.1)],
        ..example()
    }
}

fn site() -> World {
    World::new(|seen| match seen.path.as_str() {
        path if path.starts_with("/login") => Reply::Answer {
            after_ns: 5 * MS,
            status: 302,
            headers: "Set-Cookie: sid=in; Path=/\r\n",
            body: 0,
        },
        "/list" if !seen.text.contains("Cookie: sid=in") => {
            Reply::Answer { after_ns: MS, status: 403, headers: "", body: 0 }
        }
        _ => Reply::After(MS),
    })
}

#[test]
fn each_user_does_its_first_steps_once_before_all_windows_and_keeps_its_cookies() {
    let world = site();
    let outcomes = run_all(&world, &with_login(6));
    let [entrance, windows @ ..] = &outcomes[..] else { panic!("no outcomes") };
    assert_eq!((entrance.tally.offered, entrance.tally.completed), (12, 12));
    assert_eq!(windows.len(), 2);
    for window in windows {
        assert_eq!(window.tally.errors.total(), 0);
        assert!(window.tally.completed > 500);
    }
    let log = world.log();
    let (first, rest) = log.split_at(12);
    assert!(rest.iter().all(|seen| seen.path == "/list"));
    for user in 0..6 {
        let path = format!("/login/user{user}/");
        let logins = first.iter().filter(|seen| seen.path == path);
        assert_eq!(logins.count(), 1, "{path}");
    }
    // Those of a connection in their order, four users at a time: 5 and 1 ms for two rounds.
    for connection in 0..6 {
        let own = first.iter().filter(|seen| seen.connection == connection);
        let asked: String = own.map(|seen| &seen.path[..4]).collect();
        assert!("/log/acc".repeat(3).starts_with(&asked), "{asked}");
    }
    assert_eq!(entrance.since_opening(entrance.tally.closed_ns), 12 * MS);
}

#[test]
fn the_cookie_stays_when_the_connection_goes() {
    let world = site();
    let spec = LoadSpec { requests_per_connection: 1, ..with_login(2) };
    let outcomes = run_all(&world, &spec);
    assert!(outcomes.iter().all(|outcome| outcome.tally.errors.total() == 0));
    assert!(outcomes[1].tally.sockets.connects > 50);
}

#[test]
fn a_user_who_fails_in_a_first_step_does_no_more_of_them() {
    let world = World::new(|seen| {
        let status = if seen.path.contains("user1") { 200 } else { 302 };
        Reply::Answer { after_ns: MS, status, headers: "", body: 0 }
    });
    let outcomes = run_all(&world, &with_login(3));
    let entrance = &outcomes[0].tally;
    assert_eq!((entrance.offered, entrance.completed), (5, 4));
    assert_eq!(entrance.errors.of(ErrorKind::WrongStatus), 1);
    let parts = entrance.parts(3);
    assert_eq!(
        parts.iter().map(|part| (part.offered, part.completed)).collect::<Vec<_>>(),
        [(0, 0), (3, 2), (2, 2)]
    );
}

#[test]
fn who_is_not_answered_in_a_first_step_holds_nobody_up() {
    let world = World::new(|seen| match seen.path.as_str() {
        "/login/user0/" => Reply::Silence,
        path if path.starts_with("/login") => {
            Reply::Answer { after_ns: MS, status: 302, headers: "", body: 0 }
        }
        _ => Reply::After(MS),
    });
    let outcomes = run_all(&world, &LoadSpec { timeout_s: 0.05, ..with_login(9) });
    let entrance = &outcomes[0];
    assert_eq!((entrance.tally.offered, entrance.tally.completed), (17, 16));
    assert_eq!(entrance.tally.errors.of(ErrorKind::Timeout), 1);
    assert_eq!(entrance.since_opening(entrance.tally.closed_ns), 50 * MS);
}

/// Users whose visits are `/a`, `/b`, `/c`.
fn in_order(visit: Length, windows: Vec<Window>) -> LoadSpec {
    let arm = Arm {
        order: Order::Given,
        ..Arm::new("127.0.0.1:80", requests(&["/a{user}", "/b{user}", "/c{user}"]))
    };
    LoadSpec {
        arms: vec![arm],
        users: Users { visit, think: Think::Fixed { s: 0.003 }, ..Users::PLAIN },
        windows,
        connections: 3,
        ..example()
    }
}

/// What each user asked for, in order.
fn by_user(world: &World) -> Vec<String> {
    let log = world.log();
    let of_user = |user: u32| log.iter().filter(move |seen| seen.path[2..] == user.to_string());
    (0..3).map(|user| of_user(user).map(|seen| &seen.path[1..2]).collect()).collect()
}

#[test]
fn visits_in_order_go_on_where_a_windows_end_cut_them_short() {
    let world = World::new(|seen| Reply::After((1 + seen.index as u64 % 4) * MS));
    // Lengths that no visit fits into.
    run_all(&world, &in_order(Length::Fixed(3), vec![window(0.0, 0.017); 7]));
    for asked in by_user(&world) {
        assert!(asked.len() > 12, "{asked}");
        assert!("abc".repeat(20).starts_with(&asked), "{asked}");
    }
}

#[test]
fn a_visit_in_order_that_is_longer_begins_again_and_a_shorter_one_ends() {
    for (n_steps, expected) in [(5, "abcab"), (2, "ab")] {
        let world = World::new(|_| Reply::After(MS));
        run_all(&world, &in_order(Length::Fixed(n_steps), vec![counted(30)]));
        for asked in by_user(&world) {
            assert!(asked.len() >= 8, "{asked}");
            assert!(expected.repeat(10).starts_with(&asked), "{asked}");
        }
    }
}

#[test]
fn a_visit_of_any_length_begins_with_the_first_step() {
    let world = World::new(|_| Reply::After(MS));
    run_all(&world, &in_order(Length::Geometric { mean: 2.0 }, vec![counted(300)]));
    let all = by_user(&world).join("");
    let n = |path: &str| all.matches(path).count();
    // Of who does a step half do the next one.
    assert!(n("a") > n("b") && n("b") > n("c") && n("c") > 10, "{all}");
    assert!(!all.contains("ac") && !all.contains("bb") && !all.contains("cb"), "{all}");
}
