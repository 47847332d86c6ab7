//! Manual holds and `Retry-After`.

use super::*;

#[test]
fn a_person_holds_and_releases() {
    let hold = |until| HoldCommand::Hold {
        by: Some("ann".to_owned()),
        reason: Some("maintenance".to_owned()),
        until,
    };
    let release = HoldCommand::Release {
        by: Some("bob".to_owned()),
    };
    let mut world = World::new(HoldMode::Off);
    world.command(&hold(None), at(10));
    // Without probes, whatever the setting, for as long as it takes; the second time changes nothing.
    world.command(&hold(None), at(20));
    world.step(Some(7), at(20_000));
    let Room::Closed(ClosedBy::ManualHold {
        until: None,
        hold: who,
    }) = world.room(at(20_000))
    else {
        panic!("open");
    };
    assert_eq!((who.by.as_deref(), who.since), (Some("ann"), at(10)));
    world.command(&release, at(20_001));
    assert_eq!(world.start(99, at(20_001)), 1);
    world.command(&release, at(20_002));
    world.step(Some(0), at(20_003));
    assert_eq!(
        world.lines,
        [
            "10s held manually",
            "20001s ramping, 1 per second",
            "20003s healthy"
        ]
    );
    let incident = &world.health.past_incidents()[0];
    assert_eq!(incident.released_by.as_deref(), Some("bob"));
    let held = world.held(at(0), at(99_999), HoldMode::Watch);
    assert_eq!(held, Duration::from_secs(19_993));
    // Until a time.
    world.command(&hold(Some(at(30_100))), at(30_000));
    assert_eq!(world.health.manual_hold_until(), Some(at(30_100)));
    let closed = world.room(at(30_001));
    assert!(matches!(
        closed,
        Room::Closed(ClosedBy::ManualHold { until: Some(until), .. }) if until == at(30_100)
    ));
    assert_eq!(
        world.health.next_step_at(&world.rules, at(30_001)),
        Some(at(30_100))
    );
    world.step(Some(3), at(30_100));
    assert_eq!(world.lines.last().unwrap(), "30100s ramping, 1 per second");
}

#[test]
fn a_hold_by_hand_that_fails_after_its_release_is_one_of_the_machine() {
    let mut world = World::new(HoldMode::Watch);
    world.break_down(at(0));
    let hold = HoldCommand::Hold {
        by: None,
        reason: None,
        until: None,
    };
    world.command(&hold, at(10));
    world.command(&HoldCommand::Release { by: None }, at(20));
    assert_eq!(world.start(9, at(20)), 1);
    world.end(unreachable(), at(20), at(20));
    world.step(Some(1), at(20));
    // No longer held: the setting is to watch.
    assert_eq!(world.room(at(21)), Room::For(u32::MAX));
    // The machine's cause is kept.
    let cause = &world.health.incident().unwrap().cause;
    assert!(matches!(cause, IncidentCause::Failures { .. }));
    let by_hand = world.held(at(0), at(100), HoldMode::Watch);
    assert_eq!(by_hand, Duration::from_secs(10));
    let all = world.held(at(0), at(100), HoldMode::Auto);
    assert_eq!(all, Duration::from_secs(100));
}

#[test]
fn one_retry_after_counts_for_all() {
    let retry_after = |secs, status| {
        let failure = Failure::http(status, "slow down");
        failed(failure.with_retry_after(Duration::from_secs(secs)))
    };
    let mut world = World::new(HoldMode::Off);
    world.end(retry_after(30, 429), at(0), at(1));
    world.end(retry_after(10, 503), at(0), at(2));
    // Of no other status.
    world.end(retry_after(90, 500), at(0), at(2));
    world.step(None, at(2));
    let shared = SharedRetryAfter {
        until: at(31),
        job: JobId::from_bits(2),
        at: at(1),
        status: 429,
        header: crate::flow::LimitHeader::RETRY_AFTER,
        by_call: true,
    };
    assert_eq!(
        world.room(at(30)),
        Room::Closed(ClosedBy::RetryAfter(shared))
    );
    assert_eq!(world.health.retry_after(at(30)), Some(&shared));
    assert_eq!(world.health.limit(HoldMode::Off, false), None);
    assert_eq!(world.room(at(31)), Room::For(u32::MAX));
    // The clock is set back by a day: the wait begins anew, and is no longer.
    let back = at(5).minus(limits::DAY);
    let change = world
        .health
        .step(HealthInput::default(), &world.rules, back);
    let shared = *change.unwrap().health.retry_after(back).unwrap();
    assert_eq!(shared.until, back.plus(Duration::from_secs(30)));
    // A person may know better.
    world.command(&HoldCommand::Release { by: None }, at(6));
    assert_eq!(world.room(at(6)), Room::For(u32::MAX));
    assert!(world.health.is_quiet());
}
