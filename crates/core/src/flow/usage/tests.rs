use proptest::prelude::*;

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_000_000_000 + millis)
}

fn tokens(amount: f64) -> Cost {
    Cost::new([("tokens", amount)]).unwrap()
}

fn rate(limit: u32, secs: u64) -> UnitRate {
    let unit = Unit::new("tokens").unwrap();
    UnitRate::new(limit.into(), Duration::from_secs(secs), unit).unwrap()
}

fn settled(at: Timestamp, reserved: f64, used: f64) -> Option<CostChange> {
    CostChange::of_report(at, &tokens(reserved), &tokens(used))
}

/// When a cost fits, if not now.
fn wait(usage: &Usage, rates: &[UnitRate], cost: f64, now: Timestamp) -> Option<(i64, Timestamp)> {
    let wait = usage.fits(rates, &tokens(cost), now).err()?;
    Some((wait.free / 1_000_000, wait.until))
}

#[test]
fn a_cost_that_does_not_fit_says_when_it_will() {
    let (rates, mut usage) = ([rate(10_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(8_760.0), at(0));
    usage.charge(&rates, &tokens(500.0), at(30_000));
    assert_eq!(wait(&usage, &rates, 740.0, at(31_000)), None);
    let full = Some((740, at(60_000)));
    assert_eq!(wait(&usage, &rates, 1_800.0, at(31_000)), full);
    assert_eq!(
        wait(&usage, &rates, 9_900.0, at(31_000)),
        Some((740, at(90_000)))
    );
    assert_eq!(wait(&usage, &rates, 1_800.0, at(60_000)), None);
}

#[test]
fn what_is_kept_for_the_next_job_closes_the_gate() {
    let (rates, mut usage) = ([rate(10_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(8_000.0), at(0));
    assert_eq!(usage.room(&rates, at(1)), Ok(u32::MAX));
    let wait = usage.fits(&rates, &tokens(5_000.0), at(1)).unwrap_err();
    usage.keep_for(&rates, &wait);
    let closed = usage.room(&rates, at(2)).unwrap_err();
    assert_eq!((closed.needed, closed.until), (ones(5_000), at(60_000)));
    assert_eq!(usage.room(&rates, at(60_000)), Ok(u32::MAX));
    // Which of the jobs starts then is another question: nothing is kept any more.
    usage.charge(&rates, &tokens(9_000.0), at(60_000));
    assert_eq!(usage.room(&rates, at(60_001)), Ok(u32::MAX));
}

#[test]
fn a_job_that_costs_more_than_the_limit_starts_alone() {
    let (rates, mut usage) = ([rate(1_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(1.0), at(0));
    assert_eq!(
        wait(&usage, &rates, 5_000.0, at(1)),
        Some((999, at(60_000)))
    );
    usage.charge(&rates, &tokens(5_000.0), at(60_000));
    // Less than nothing is free, until it has left the window.
    let closed = usage.room(&rates, at(60_001)).unwrap_err();
    assert_eq!(
        (closed.free, closed.until),
        (ones(1_000) - ones(5_000), at(120_000))
    );
    assert_eq!(usage.room(&rates, at(120_000)), Ok(u32::MAX));
}

#[test]
fn what_was_not_used_is_free_at_once_and_what_was_used_beyond_is_charged() {
    let (rates, mut usage) = ([rate(10_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(10_000.0), at(0));
    usage.settle(
        &rates,
        &settled(at(0), 10_000.0, 4_000.0).unwrap(),
        at(5_000),
    );
    assert_eq!(wait(&usage, &rates, 6_000.0, at(5_000)), None);
    usage.charge(&rates, &tokens(6_000.0), at(5_000));
    usage.settle(
        &rates,
        &settled(at(5_000), 6_000.0, 9_000.0).unwrap(),
        at(10_000),
    );
    let closed = usage.room(&rates, at(10_000)).unwrap_err();
    assert_eq!((closed.free, closed.until), (-ones(3_000), at(60_000)));
    // It counts from when it was charged.
    assert_eq!(
        wait(&usage, &rates, 8_000.0, at(65_000)),
        Some((7_000, at(70_000)))
    );
}

#[test]
fn what_has_left_the_window_is_not_given_back_again() {
    let (rates, mut usage) = ([rate(10_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(10_000.0), at(0));
    usage.charge(&rates, &tokens(10_000.0), at(60_000));
    usage.settle(&rates, &settled(at(0), 10_000.0, 1.0).unwrap(), at(61_000));
    assert_eq!(
        wait(&usage, &rates, 1.0, at(61_000)),
        Some((0, at(120_000)))
    );
}

#[test]
fn a_gate_that_is_changed_keeps_what_was_used() {
    let (before, after) = ([rate(10_000, 60)], [rate(5_000, 120), rate(500, 10)]);
    let mut usage = Usage::default();
    usage.charge(&before, &tokens(4_900.0), at(0));
    assert_eq!(
        wait(&usage, &after[..1], 200.0, at(1)),
        Some((100, at(120_000)))
    );
    usage.charge(&after, &tokens(100.0), at(20_000));
    assert_eq!(
        wait(&usage, &after, 401.0, at(20_000)),
        Some((0, at(120_000)))
    );
    assert_eq!(
        wait(&usage, &after[1..], 401.0, at(20_000)),
        Some((400, at(30_000)))
    );
    assert_eq!(usage.counts_until(), Some(at(140_000)));
}

#[test]
fn a_clock_that_is_set_back_neither_frees_nor_blocks() {
    let (rates, mut usage) = ([rate(1_000, 60)], Usage::default());
    usage.charge(&rates, &tokens(1_000.0), at(0));
    // A little: it counts.
    assert_eq!(wait(&usage, &rates, 1.0, at(-3_000)), Some((0, at(60_000))));
    // More: what was written by the old clock does not.
    assert_eq!(wait(&usage, &rates, 1_000.0, at(-60_000)), None);
    usage.charge(&rates, &tokens(1_000.0), at(-60_000));
    assert_eq!(wait(&usage, &rates, 1.0, at(-59_000)), Some((0, at(0))));
}

#[test]
fn starts_are_counted_one_by_one() {
    let starts = UnitRate::new(3, Duration::from_secs(60), Unit::STARTS).unwrap();
    let (rates, mut usage) = ([starts], Usage::default());
    assert_eq!(usage.room(&rates, at(0)), Ok(3));
    for (start, left) in [(0, 2), (1_000, 1)] {
        usage.charge(&rates, &Cost::default(), at(start));
        assert_eq!(usage.room(&rates, at(start)), Ok(left));
    }
    usage.charge(&rates, &Cost::default(), at(2_000));
    assert_eq!(usage.room(&rates, at(3_000)).unwrap_err().until, at(61_000));
    assert_eq!(
        usage
            .fits(&rates, &Cost::default(), at(3_000))
            .unwrap_err()
            .until,
        at(61_000)
    );
}

#[test]
fn usage_is_read_as_it_was_stored() {
    let (rates, mut usage) = ([rate(1_000, 60)], Usage::default());
    assert_eq!(usage.to_text(), None);
    usage.charge(&rates, &tokens(7.5), at(0));
    let text = usage.to_text().unwrap();
    assert_eq!(Usage::from_text(Some(&text)), usage);
    assert_eq!(Usage::from_text(Some("[{}]")), Usage::default());
}

#[test]
fn rates_are_written_and_read() {
    let refusal = |text: &str| UnitRate::read_all(text).unwrap_err().to_string();
    let rates = UnitRate::read_all("100000 tokens/1m, 500/h").unwrap();
    assert_eq!(UnitRate::write_all(&rates), "100000 tokens/1m, 500/1h");
    assert_eq!(rates[1].to_string(), "500 starts per 1h");
    for text in ["", "tokens/1m", "5 tokens", "5 tokens/x"] {
        let expected = format!("rates is {text:?}: must be a rate such as");
        assert!(refusal(text).starts_with(&expected), "{}", refusal(text));
    }
    assert_eq!(
        refusal("0 tokens/1m"),
        "rates.limit is 0: must be between 1 and 1000000000"
    );
    assert!(refusal("5 US/1m").starts_with("rates.unit is \"US\": must have"));
    assert!(refusal("5 tokens/2d").starts_with("rates.per"));
}

proptest! {
    /// Whatever jobs cost and use, and whenever they end: what is used in any window is at most the
    /// limit and what running attempts were underestimated by.
    #[test]
    fn no_window_holds_more_than_the_limit_and_what_was_underestimated(
        limit in 100..2_000_u32,
        jobs in prop::collection::vec((0..400_i64, 1..100_u32, 0..200_u32, 0..5_000_i64), 1..150),
    ) {
        let rates = [rate(limit, 2)];
        let (mut usage, mut now) = (Usage::default(), 0);
        let mut running: Vec<(i64, i64, u32, u32)> = Vec::new();
        // The time from which it counts, and what is used.
        let mut used: Vec<(i64, u32)> = Vec::new();
        for (pause, estimate, real, takes) in jobs {
            now += pause;
            running.sort_unstable();
            while let Some((end, start, estimate, real)) = running.first().copied().filter(|it| it.0 <= now) {
                running.remove(0);
                if let Some(change) = settled(at(start), estimate.into(), real.into()) {
                    usage.settle(&rates, &change, at(end));
                }
                // What was underestimated is charged at the end.
                used.push((start, real.min(estimate)));
                used.push((end, real.saturating_sub(estimate)));
            }
            if usage.room(&rates, at(now)).is_ok()
                && usage.fits(&rates, &tokens(estimate.into()), at(now)).is_ok()
            {
                usage.charge(&rates, &tokens(estimate.into()), at(now));
                running.push((now + takes, now, estimate, real));
                // What counts in the window that ends now, by what is known.
                let counted: u32 = used.iter().filter(|(from, _)| *from > now - 2_000).map(|it| it.1).sum();
                let reserved = running.iter().filter(|it| it.1 > now - 2_000);
                let reserved: u32 = reserved.map(|it| it.2).sum();
                prop_assert!(counted + reserved <= limit.max(estimate), "{counted} + {reserved}");
            }
        }
    }

    /// A job alone is charged what it used, once.
    #[test]
    fn what_is_given_back_is_given_back_once(
        estimate in 1..1_000_u32,
        real in 0..1_000_u32,
        others in prop::collection::vec((0..3_000_i64, 1..20_u32), 0..20),
        end in 0..10_000_i64,
    ) {
        let rates = [rate(1_000_000, 60)];
        let mut usage = Usage::default();
        let mut all: Vec<(i64, u32)> = others;
        all.push((1_000, estimate));
        all.sort_unstable();
        for (start, cost) in &all {
            usage.charge(&rates, &tokens(f64::from(*cost)), at(*start));
        }
        let end = 3_000 + end;
        if let Some(change) = settled(at(1_000), estimate.into(), real.into()) {
            usage.settle(&rates, &change, at(end));
        }
        let others: u32 = all.iter().map(|it| it.1).sum::<u32>() - estimate;
        let window = usage.window(&rates[0]).unwrap();
        prop_assert_eq!(window.free(&rates[0], at(end)), ones(1_000_000 - others - real));
    }

    /// However often something is charged, the state stays small.
    #[test]
    fn the_state_is_bounded(pauses in prop::collection::vec(0..100_i64, 1..2_000)) {
        let (rates, mut usage, mut now) = ([rate(1_000_000, 1)], Usage::default(), 0);
        for pause in pauses {
            now += pause;
            usage.charge(&rates, &tokens(1.0), at(now));
        }
        let parts = usize::try_from(limits::USAGE_PARTS).unwrap();
        prop_assert!(usage.window(&rates[0]).unwrap().used.len() <= parts + 1);
    }
}
