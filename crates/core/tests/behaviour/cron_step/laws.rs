//! What holds however a schedule is driven.

use proptest::prelude::*;
use steadfast_core::{MissedTickPolicy, OverlapPolicy, Timetable};

use super::{at, cron, every};

fn any_timetable() -> impl Strategy<Value = Timetable> {
    let overlaps = vec![
        OverlapPolicy::Skip,
        OverlapPolicy::Allow,
        OverlapPolicy::QueueOne,
        OverlapPolicy::Replace,
    ];
    let missed = vec![
        MissedTickPolicy::Skip,
        MissedTickPolicy::RunOnce,
        MissedTickPolicy::RunAll,
    ];
    let rules = vec![
        every(7, OverlapPolicy::Skip, MissedTickPolicy::Skip),
        cron("*/7 * * * * *"),
        cron("*/3 * * * *"),
    ];
    (
        prop::sample::select(rules),
        prop::sample::select(overlaps),
        prop::sample::select(missed),
        prop::option::of(1..40_u64),
        prop::option::of(1..20_000_i64),
    )
        .prop_map(|(timetable, overlap, missed, max_runs, end)| {
            let timetable = timetable.with_window(None, end.map(at)).unwrap();
            timetable
                .with_max_runs(max_runs)
                .unwrap()
                .with_overlap(overlap)
                .with_missed(missed)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_it_is_driven_every_tick_fires_waits_or_is_skipped_exactly_once(
        timetable in any_timetable(),
        drive in prop::collection::vec((-300..1_500_i64, any::<bool>()), 1..25),
    ) {
        let mut state = timetable.begin(at(0));
        let (mut now, mut fired, mut skipped) = (0, Vec::new(), 0);
        for (passed, unfinished) in drive {
            now = (now + passed).max(0);
            let step = timetable.step(&state, unfinished, at(now));
            let overlapping = timetable.overlap() == OverlapPolicy::Allow || step.fire.len() <= 1;
            prop_assert!(overlapping, "{:?}", step);
            prop_assert!(!step.cancel_unfinished || !step.fire.is_empty());
            prop_assert!(step.progress.next_tick.is_none_or(|next| next > at(now)));
            fired.extend(step.fire);
            skipped += step.skipped.iter().map(|skip| skip.count).sum::<u64>();
            state = step.progress;
        }
        prop_assert!(fired.is_sorted_by(|a, b| a < b), "{fired:?}");
        prop_assert_eq!(state.runs, fired.len() as u64);
        prop_assert!(timetable.max_runs().is_none_or(|max| state.runs <= max));
        let first = timetable.first_tick(at(0)).map(|tick| tick.at);
        let handled = std::iter::successors(first, |tick| timetable.next_after(*tick).map(|tick| tick.at))
            .take_while(|tick| state.last_tick.is_some_and(|last| *tick <= last))
            .count() as u64;
        prop_assert_eq!(handled, fired.len() as u64 + skipped + u64::from(state.queued_tick.is_some()));
    }
}
