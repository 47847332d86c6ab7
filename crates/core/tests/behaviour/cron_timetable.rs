//! Timetables: their limits, their ticks, and how they are stored.

use std::time::Duration;

use proptest::prelude::*;
use steadfast_core::{
    Cron, Dst, Invalid, MissedTickPolicy, OverlapPolicy, ScheduleProgress, TickRule, Timestamp,
    Timetable, Zone,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cron(pattern: &str, zone: &str) -> Timetable {
    let (cron, zone) = (Cron::parse(pattern).unwrap(), Zone::parse(zone).unwrap());
    Timetable::new(TickRule::Cron { cron, zone }).unwrap()
}

fn every(secs: u64) -> Timetable {
    Timetable::new(TickRule::Every(Duration::from_secs(secs))).unwrap()
}

fn texts(timetable: &Timetable, from: &str, count: usize) -> Vec<String> {
    let ticks = timetable.preview(at(from), count);
    ticks.iter().map(|tick| tick.at.to_string()).collect()
}

#[test]
fn what_makes_no_sense_is_refused_with_its_field() {
    let new = |every| Timetable::new(TickRule::Every(every));
    let day = Duration::from_secs(86_400);
    let field = |result: Result<Timetable, Invalid>| result.unwrap_err().field;
    assert_eq!(field(new(Duration::from_millis(999))), "every");
    assert_eq!(field(new(day * 366 + Duration::from_millis(1))), "every");
    assert_eq!(field(new(Duration::from_micros(1_500_001))), "every");
    assert!(new(Duration::from_millis(1_500)).is_ok());
    assert!(new(day * 366).is_ok());
    let noon = at("2026-01-01T12:00:00Z");
    assert_eq!(field(every(1).with_window(Some(noon), Some(noon))), "endAt");
    assert_eq!(field(every(1).with_max_runs(Some(0))), "maxRuns");
}

#[test]
fn a_refusal_reads_as_a_sentence() {
    let error = Timetable::new(TickRule::Every(Duration::from_millis(10))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "every is 10ms: must be 1s to 366d, in whole milliseconds"
    );
}

#[test]
fn a_tick_on_the_start_and_on_the_end_is_in() {
    let timetable = cron("0 * * * *", "UTC")
        .with_window(
            Some(at("2026-01-01T09:00:00Z")),
            Some(at("2026-01-01T11:00:00Z")),
        )
        .unwrap();
    let all = [
        "2026-01-01T09:00:00Z",
        "2026-01-01T10:00:00Z",
        "2026-01-01T11:00:00Z",
    ];
    assert_eq!(texts(&timetable, "2025-01-01T00:00:00Z", 9), all);
    assert_eq!(texts(&timetable, "2026-01-01T09:00:00Z", 9), all[1..]);
    assert_eq!(texts(&timetable, "2026-01-01T11:00:00Z", 9), [""; 0]);
    for created in ["2025-12-01T00:00:00Z", "2026-01-01T09:00:00Z"] {
        assert_eq!(
            timetable.first_tick(at(created)).unwrap().at.to_string(),
            all[0]
        );
    }
}

#[test]
fn an_every_with_a_start_is_anchored_there_whenever_it_is_asked() {
    let timetable = every(90)
        .with_window(Some(at("2026-01-01T12:00:00Z")), None)
        .unwrap();
    let first = |created| timetable.first_tick(at(created)).unwrap().at.to_string();
    assert_eq!(first("2025-06-01T00:00:00Z"), "2026-01-01T12:00:00Z");
    assert_eq!(first("2026-01-01T12:00:00Z"), "2026-01-01T12:00:00Z");
    assert_eq!(first("2026-01-01T12:00:00.5Z"), "2026-01-01T12:01:30Z");
    assert_eq!(first("2026-01-01T12:01:30Z"), "2026-01-01T12:03:00Z");
}

#[test]
fn an_every_without_a_start_counts_from_its_creation() {
    let timetable = every(90);
    let progress = timetable.begin(at("2026-01-01T12:00:07Z"));
    assert_eq!(progress.next_tick, Some(at("2026-01-01T12:01:37Z")));
    let upcoming = timetable.upcoming(&progress, 2);
    let upcoming: Vec<_> = upcoming.iter().map(|tick| tick.at.to_string()).collect();
    assert_eq!(upcoming, ["2026-01-01T12:01:37Z", "2026-01-01T12:03:07Z"]);
}

#[test]
fn a_timetable_that_ends_before_its_first_tick_has_none() {
    let window = (
        Some(at("2026-01-01T00:30:00Z")),
        Some(at("2026-01-01T00:45:00Z")),
    );
    let timetable = cron("0 * * * *", "UTC")
        .with_window(window.0, window.1)
        .unwrap();
    assert_eq!(timetable.first_tick(at("2025-01-01T00:00:00Z")), None);
    assert!(timetable.begin(at("2025-01-01T00:00:00Z")).is_over());
}

#[test]
fn a_preview_stops_at_the_last_run() {
    let timetable = every(60).with_max_runs(Some(3)).unwrap();
    assert_eq!(timetable.preview(Timestamp::EPOCH, 10).len(), 3);
    let next_tick = Some(at("2026-01-01T12:00:00Z"));
    let mut progress = ScheduleProgress {
        next_tick,
        runs: 1,
        ..ScheduleProgress::default()
    };
    assert_eq!(timetable.upcoming(&progress, 10).len(), 2);
    progress.queued_tick = Some(at("2026-01-01T11:59:00Z"));
    assert_eq!(timetable.upcoming(&progress, 10).len(), 1);
}

#[test]
fn a_preview_marks_what_a_change_of_clocks_touches() {
    let timetable = cron("30 2 * * *", "America/New_York");
    let marks = |from| {
        timetable
            .preview(at(from), 3)
            .iter()
            .map(|tick| tick.dst)
            .collect::<Vec<_>>()
    };
    assert_eq!(marks("2026-03-07T00:00:00Z"), [None, Some(Dst::Gap), None]);
    let progress = timetable.begin(at("2026-03-07T12:00:00Z"));
    assert_eq!(timetable.upcoming(&progress, 1)[0].dst, Some(Dst::Gap));
}

#[test]
fn time_has_an_end_and_ticks_end_with_it() {
    let nearly = Timestamp::from_micros(Timestamp::MAX.as_micros() - 1_500_000);
    assert_eq!(every(1).preview(nearly, 5).len(), 1);
    assert!(
        cron("* * * * * *", "Pacific/Kiritimati")
            .preview(nearly, 5)
            .len()
            <= 1
    );
    assert_eq!(every(1).next_after(Timestamp::MAX), None);
    assert_eq!(cron("@yearly", "UTC").next_after(Timestamp::MAX), None);
}

#[test]
fn a_timetable_is_stored_with_the_names_of_the_api() {
    let timetable = cron("0 9 * * MON-FRI", "Europe/Paris")
        .with_window(
            Some(at("2026-01-01T00:00:00Z")),
            Some(at("2027-01-01T00:00:00Z")),
        )
        .and_then(|timetable| timetable.with_max_runs(Some(5)))
        .unwrap()
        .with_overlap(OverlapPolicy::QueueOne)
        .with_missed(MissedTickPolicy::RunAll);
    let json = r#"{"schedule":"0 9 * * MON-FRI","timezone":"Europe/Paris","startAt":"2026-01-01T00:00:00Z","endAt":"2027-01-01T00:00:00Z","maxRuns":5,"overlap":"queueOne","missed":"runAll"}"#;
    assert_eq!(serde_json::to_string(&timetable).unwrap(), json);
    assert_eq!(serde_json::from_str::<Timetable>(json).unwrap(), timetable);
    let json = r#"{"every":"1m30s","overlap":"skip","missed":"runOnce"}"#;
    assert_eq!(serde_json::to_string(&every(90)).unwrap(), json);
    assert_eq!(
        serde_json::from_str::<Timetable>(r#"{"every":90000}"#).unwrap(),
        every(90)
    );
    let utc = serde_json::from_str::<Timetable>(r#"{"schedule":"@daily"}"#).unwrap();
    assert_eq!(utc, cron("@daily", "UTC"));
}

#[test]
fn a_stored_timetable_is_checked_as_a_new_one_is() {
    for json in [
        "{}",
        r#"{"timezone":"UTC"}"#,
        r#"{"schedule":"@daily","every":"90s"}"#,
        r#"{"every":"90s","timezone":"UTC"}"#,
        r#"{"every":"10ms"}"#,
        r#"{"every":"90s","maxRuns":0}"#,
        r#"{"every":"90s","maxruns":1}"#,
        r#"{"schedule":"0 0 30 2 *"}"#,
        r#"{"schedule":"@daily","startAt":"2026-01-02T00:00:00Z","endAt":"2026-01-01T00:00:00Z"}"#,
    ] {
        assert!(
            serde_json::from_str::<Timetable>(json).is_err(),
            "{json} was accepted"
        );
    }
}

fn timetable() -> impl Strategy<Value = Timetable> {
    prop_oneof![
        (1_000..5_000_000_u64).prop_map(|ms| TickRule::Every(Duration::from_millis(ms))),
        prop::sample::select(vec![
            "*/7 * * * * *",
            "30 1,2 * * *",
            "0 0 L * *",
            "*/20 */3 * * *"
        ])
        .prop_map(|pattern| TickRule::Cron {
            cron: Cron::parse(pattern).unwrap(),
            zone: Zone::parse("America/New_York").unwrap(),
        }),
    ]
    .prop_map(|rule| Timetable::new(rule).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_preview_is_what_asking_again_and_again_gives(
        timetable in timetable(),
        millis in 0..4_000_000_000_000_i64,
    ) {
        let mut from = Timestamp::from_millis(millis);
        for tick in timetable.preview(from, 12) {
            prop_assert_eq!(timetable.next_after(from), Some(tick));
            prop_assert!(tick.at > from);
            from = tick.at;
        }
    }

    #[test]
    fn storing_a_timetable_changes_nothing(timetable in timetable()) {
        let json = serde_json::to_string(&timetable).unwrap();
        prop_assert_eq!(serde_json::from_str::<Timetable>(&json).unwrap(), timetable);
    }
}
