//! Outages as stories, a line for each change.

use proptest::prelude::*;

use super::*;

#[test]
fn an_outage_is_held_probed_and_drained() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    let left = world.run(1..300, 2_000, |second| second >= 100);
    assert_eq!(left, 0);
    assert_eq!(
        world.lines,
        [
            "0s held, probe at 5s",
            "5s held, probe at 15s",
            "15s held, probe at 35s",
            "35s held, probe at 75s",
            "75s held, probe at 135s",
            "135s ramping, 1 per second",
            "136s ramping, 2 per second",
            "137s ramping, 4 per second",
            "138s ramping, 8 per second",
            "139s ramping, 16 per second",
            "140s ramping, 32 per second",
            "141s ramping, 64 per second",
            "142s ramping, 128 per second",
            "143s ramping, 256 per second",
            "144s ramping, 512 per second",
            "145s ramping, 1024 per second",
            "146s healthy",
        ]
    );
    let [incident] = world.health.past_incidents() else {
        panic!("one incident");
    };
    assert_eq!(incident.began_at, at(0));
    assert_eq!(incident.ended_at, Some(at(146)));
    assert_eq!(incident.failed_probes, 4);
    assert_eq!(incident.failed_attempts, 4);
    assert_eq!(incident.attempts_saved(), 2_000);
    let backlog = Duration::from_secs(146 - 135);
    assert_eq!(incident.caught_up_in(), Some(backlog));
    assert_eq!(incident.avoidable_attempts(), 0);
}

#[test]
fn a_ramp_goes_on_until_the_backlog_is_gone() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    let left = world.run(1..300, 30_000, |second| second >= 100);
    assert_eq!(left, 0);
    let [.., before, last] = &world.lines[..] else {
        panic!("several lines");
    };
    assert_eq!(before, "149s ramping, 16384 per second");
    assert_eq!(last, "150s healthy");
}

#[test]
fn a_ramp_that_fails_is_held_again_and_a_small_backlog_ends_it() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    // It works for a moment only.
    world.run(1..43, 100, |second| !(7..30).contains(&second));
    assert_eq!(
        world.lines,
        [
            "0s held, probe at 5s",
            "5s ramping, 1 per second",
            "6s ramping, 2 per second",
            // Failures are counted in pieces of five seconds.
            "10s held, probe at 20s",
            "20s held, probe at 40s",
            "40s ramping, 1 per second",
            "41s ramping, 2 per second",
            "42s ramping, 4 per second",
        ]
    );
    world.run(43..50, 3, |_| true);
    assert_eq!(world.lines.last().unwrap(), "43s healthy");
}

#[test]
fn attempts_that_started_before_a_ramp_say_nothing_about_it() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    assert_eq!(world.start(1, at(5)), 1);
    world.end(success(), at(5), at(5));
    world.step(Some(100), at(5));
    // Calls that hung since the beginning end now.
    for _ in 0..100 {
        world.end(unreachable(), at(0), at(6));
    }
    assert_eq!(world.start(9, at(6)), 1);
    world.end(success(), at(6), at(6));
    world.step(Some(99), at(6));
    assert_eq!(world.lines.last().unwrap(), "6s ramping, 2 per second");
}

#[test]
fn a_ramp_waits_for_calls_that_hang() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    assert_eq!(world.start(1, at(5)), 1);
    world.end(success(), at(5), at(5));
    world.step(Some(100), at(5));
    let mut starts = 0;
    for second in 6..36 {
        starts += world.start(100, at(second));
        world.step(Some(100), at(second));
    }
    assert_eq!(starts, 30);
    assert_eq!(world.lines.last().unwrap(), "5s ramping, 1 per second");
}

#[test]
fn a_ramp_ends_although_jobs_wait_for_something_else() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    assert_eq!(world.start(1, at(5)), 1);
    world.end(success(), at(5), at(5));
    world.step(Some(100), at(5));
    for second in 6..70 {
        world.step(Some(100), at(second));
    }
    assert_eq!(world.lines.last().unwrap(), "65s healthy");
}

#[test]
fn in_watch_mode_all_start_and_what_holding_would_have_saved_is_counted() {
    let mut world = World::new(HoldMode::Watch);
    world.break_down(at(0));
    assert_eq!(world.room(at(1)), Room::For(u32::MAX));
    for second in 1..70 {
        for _ in 0..100 {
            let outcome = if second < 50 {
                unreachable()
            } else {
                success()
            };
            world.end(outcome, at(second), at(second));
        }
        world.step(Some(0), at(second));
    }
    // Auto would have probed after 5, 15 and 35 seconds.
    assert_eq!(
        world.lines,
        [
            "0s held, probe at 5s",
            "5s held, probe at 15s",
            "15s held, probe at 35s",
            "35s held, probe at 75s",
            "55s ramping, 1 per second",
            "56s healthy",
        ]
    );
    let incident = &world.health.past_incidents()[0];
    assert_eq!(incident.failed_attempts, 4_900);
    assert_eq!(incident.avoidable_attempts(), 4_897);
}

#[test]
fn one_probe_starts_at_a_time_and_one_that_is_not_retried_only_a_minute_later() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    let incident = || Arc::new(world.health.incident().unwrap().clone());
    let closed = |until| {
        Room::Closed(ClosedBy::Hold {
            until,
            incident: incident(),
        })
    };
    assert_eq!(world.room(at(4)), closed(at(5)));
    assert_eq!(world.room(at(5)), Room::For(1));
    assert!(world.limits().is_for_probes());
    let at_most_once = |now| {
        let guarantee = Guarantee::AtMostOnce;
        world.limits().room_for(&world.gate, guarantee, false, now)
    };
    assert_eq!(at_most_once(at(5)), closed(at(65)));
    assert_eq!(world.limits().at_most_once_from(), Some(at(65)));
    assert_eq!(at_most_once(at(65)), Room::For(1));
    let none = world.limits().after_starts(&world.gate, 0, 0, at(5));
    assert_eq!(none.next_start, world.gate.next_start);
    let first = world.limits().after_starts(&world.gate, 1, 0, at(5));
    let limits = world.limits();
    let room = |now| limits.room(&first, false, now);
    // Until its outcome is known; or else it is lost with its node.
    let lost_at = at(5).plus(limits::PROBE_LOST_AFTER);
    let lost_at = lost_at.plus(Duration::from_micros(1));
    assert_eq!(room(at(5)), closed(lost_at));
    assert_eq!(room(at(60)), closed(lost_at));
    assert_eq!(room(lost_at), Room::For(1));
    // A clock that is set back by an hour does not keep the next one from starting.
    let back = T0.minus(Duration::from_secs(3_600));
    let corrected = world
        .health
        .step(HealthInput::default(), &world.rules, back);
    let limit = corrected.unwrap().health.limit(HoldMode::Auto, true);
    let limits = GateLimits {
        destination: limit.map(Arc::new),
        ..GateLimits::default()
    };
    let later = back.plus(limits::PROBE_WAIT_MIN);
    assert_eq!(limits.room(&first, false, later), Room::For(1));
}

#[test]
fn a_probe_that_says_nothing_is_followed_by_another() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    assert_eq!(world.start(1, at(5)), 1);
    world.end(Outcome::Lost, at(5), at(6));
    world.step(None, at(6));
    assert_eq!(world.lines.last().unwrap(), "6s held, probe at 11s");
    assert_eq!(world.start(1, at(11)), 1);
}

#[test]
fn after_the_longest_hold_jobs_follow_their_policies() {
    let mut world = World::new(HoldMode::Auto);
    world.break_down(at(0));
    world.run(1..3_600, 5, |_| false);
    assert_ne!(world.room(at(3_599)), Room::For(u32::MAX));
    world.step(Some(5), at(3_600));
    assert!(world.health.is_given_up());
    assert_eq!(world.room(at(3_600)), Room::For(u32::MAX));
    assert_eq!(world.health.status(at(3_600)), HealthStatus::Held);
    // It still fails, and is not held again; then it answers.
    world.run(3_601..3_700, 5, |_| false);
    assert!(world.health.is_given_up());
    for second in 3_700..3_800 {
        world.end(success(), at(second), at(second));
        world.step(None, at(second));
    }
    assert_eq!(world.health.status(at(3_800)), HealthStatus::Healthy);
    let incident = &world.health.past_incidents()[0];
    assert_eq!(incident.given_up_at, Some(at(3_600)));
    assert!(incident.ended_at > Some(at(3_700)));
    // What came after is not time in which jobs were held.
    let held = world.held(at(0), at(9_999), HoldMode::Auto);
    assert_eq!(held, Duration::from_secs(3_600));
}

#[test]
fn a_destination_that_is_no_longer_called_is_forgotten() {
    let mut world = World::new(HoldMode::Watch);
    world.break_down(at(0));
    world.step(None, at(3_600));
    assert!(world.health.is_given_up());
    world.step(None, at(3_659));
    assert!(world.health.is_given_up());
    world.step(None, at(3_660));
    assert!(world.health.is_quiet());
}

#[derive(Clone, Debug)]
enum Event {
    Works(bool),
    Clock(i64),
    Hold,
    Release,
    Seconds(u8),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        any::<bool>().prop_map(Event::Works),
        (-100_000..100_000_i64).prop_map(Event::Clock),
        Just(Event::Hold),
        Just(Event::Release),
        (1..30_u8).prop_map(Event::Seconds),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Whatever happened, and whatever the clock did: once the destination works, all jobs start.
    #[test]
    fn nothing_is_held_for_ever(events in prop::collection::vec(event(), 0..20)) {
        let mut world = World::new(HoldMode::Auto);
        let mut clock = at(1_000_000);
        let mut works = true;
        let hold = HoldCommand::Hold { by: None, reason: None, until: None };
        let second = |world: &mut World, now: Timestamp, works: bool| {
            let starts = world.start(30, now);
            for _ in 0..starts {
                let outcome = if works { success() } else { unreachable() };
                world.end(outcome, now, now);
            }
            world.step(Some(1_000), now);
            starts
        };
        for event in events {
            match event {
                Event::Works(value) => works = value,
                Event::Clock(secs) => {
                    clock = Timestamp::from_micros(clock.as_micros() + secs * 1_000_000);
                }
                Event::Hold => world.command(&hold, clock),
                Event::Release => world.command(&HoldCommand::Release { by: None }, clock),
                Event::Seconds(secs) => for _ in 0..secs {
                    clock = clock.plus(SECOND);
                    second(&mut world, clock, works);
                },
            }
        }
        world.command(&HoldCommand::Release { by: None }, clock);
        // A lost probe, the longest wait, and a ramp.
        for _ in 0..120 + 60 + 30 {
            clock = clock.plus(SECOND);
            second(&mut world, clock, true);
        }
        prop_assert_eq!(second(&mut world, clock.plus(SECOND), true), 30, "{:?}", world.lines);
        prop_assert_eq!(world.health.status(clock), HealthStatus::Healthy);
    }
}
