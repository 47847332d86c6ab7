use std::{
    pin::{Pin, pin},
    task,
};

use steadfast_core::{Kind, Queue, Tenant, Timestamp, WorkerName};

use super::{WakeInterest, WakeReasons, Waker, Wakeups};
use crate::{claim::ClaimRequest, lane::Lane};

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn lane(tenant: &str, queue: &str, kind: &str) -> Lane {
    Lane {
        tenant: Tenant::new(tenant).unwrap(),
        queue: Queue::new(queue).unwrap(),
        kind: Kind::new(kind).unwrap(),
    }
}

/// Interest in jobs of these names; `-kind` leaves a kind out.
fn interest(tenant: Option<&str>, queues: &[&str], kinds: &[&str]) -> WakeInterest {
    let kind = |name: &&str| Kind::new(name.trim_start_matches('-')).unwrap();
    let (except, kinds): (Vec<&str>, Vec<&str>) =
        kinds.iter().partition(|name| name.starts_with('-'));
    WakeInterest::of(&ClaimRequest {
        tenant: tenant.map(|name| Tenant::new(name).unwrap()),
        queues: queues.iter().map(|it| Queue::new(it).unwrap()).collect(),
        kinds: kinds.iter().map(kind).collect(),
        except_kinds: except.iter().map(kind).collect(),
        ..ClaimRequest::new(WorkerName::new("w").unwrap(), 1)
    })
}

fn jobs(lane: &Lane, count: usize, run_at: Timestamp) -> WakeReasons {
    let mut reasons = WakeReasons::default();
    reasons.jobs_wait(lane, count, run_at);
    reasons
}

fn is_ready(future: Pin<&mut impl Future<Output = ()>>) -> bool {
    let mut context = task::Context::from_waker(task::Waker::noop());
    future.poll(&mut context).is_ready()
}

/// Whether there was a wake-up. A caller that learns that there was none is not waiting any more.
fn is_woken(wakeups: &mut Wakeups) -> bool {
    is_ready(pin!(wakeups.next()))
}

/// Which of the callers are woken by this, while all of them wait until the time given.
fn woken_by(callers: &mut [Wakeups], until: Timestamp, happens: impl FnOnce()) -> Vec<bool> {
    let mut waiting: Vec<_> = callers
        .iter_mut()
        .map(|caller| Box::pin(caller.next_before(until)))
        .collect();
    for caller in &mut waiting {
        assert!(!is_ready(caller.as_mut()));
    }
    happens();
    let woken = waiting.iter_mut();
    woken.map(|caller| is_ready(caller.as_mut())).collect()
}

#[test]
fn a_job_wakes_those_who_could_take_it_and_no_others() {
    let waker = Waker::default();
    let acme = Some("acme");
    let cases = [
        (interest(None, &[], &[]), true),
        (interest(None, &["a"], &[]), true),
        (interest(None, &["b", "a"], &["mail"]), true),
        (interest(acme, &[], &["sms", "mail"]), true),
        (interest(acme, &[], &[]), true),
        (WakeInterest::Everything, true),
        (interest(None, &["b"], &[]), false),
        (interest(None, &["a"], &["sms"]), false),
        (interest(Some("other"), &["a"], &["mail"]), false),
        (interest(None, &[], &["-mail"]), false),
        (WakeInterest::Schedules, false),
    ];
    let (interests, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let listen = |interest: &WakeInterest| waker.listen(interest.clone());
    let mut callers: Vec<_> = interests.iter().map(listen).collect();
    let job = jobs(&lane("acme", "a", "mail"), 1, NOW);
    let woken = woken_by(&mut callers, Timestamp::MAX, || {
        assert!(waker.wake_for(&job, NOW));
    });
    assert_eq!(woken, expected);
    // And again, when they have looked.
    let woken = woken_by(&mut callers, Timestamp::MAX, || {
        waker.wake_for(&job, NOW);
    });
    assert_eq!(woken, expected);
    let woken = woken_by(&mut callers, Timestamp::MAX, || waker.wake());
    assert!(woken.into_iter().all(|woken| woken));
}

#[test]
fn as_many_are_woken_as_there_are_jobs() {
    let waker = Waker::default();
    let mut same: Vec<_> = (0..5)
        .map(|_| waker.listen(interest(None, &["a"], &[])))
        .collect();
    let mut others: Vec<_> = (0..2)
        .map(|_| waker.listen(interest(None, &["a", "b"], &[])))
        .collect();
    let two = jobs(&lane("acme", "a", "mail"), 2, NOW);
    let mut both = Vec::new();
    let woken = woken_by(&mut same, Timestamp::MAX, || {
        both = woken_by(&mut others, Timestamp::MAX, || {
            waker.wake_for(&two, NOW);
        });
    });
    assert_eq!(woken.iter().filter(|woken| **woken).count(), 2);
    // Those who wait for something else may be busy when it comes to it.
    assert_eq!(both, [true, true]);
}

#[test]
fn a_caller_that_does_not_wait_learns_of_it_when_it_does() {
    let waker = Waker::default();
    let mut caller = waker.listen(interest(None, &["a"], &[]));
    let job = jobs(&lane("acme", "a", "mail"), 1, NOW);
    waker.wake_for(&job, NOW);
    waker.wake_for(&job, NOW);
    assert!(is_woken(&mut caller));
    assert!(!is_woken(&mut caller), "two before it looks are one");
    // It has given up waiting, and looks.
    waker.wake_for(&job, NOW);
    assert!(is_woken(&mut caller));
}

#[test]
fn a_caller_that_leaves_passes_on_what_only_it_may_know() {
    let waker = Waker::default();
    let mut callers: Vec<_> = (0..3)
        .map(|_| waker.listen(interest(None, &["a"], &[])))
        .collect();
    let leaving = waker.listen(interest(None, &["a"], &[]));
    let elsewhere = waker.listen(interest(None, &["b"], &[]));
    let woken = woken_by(&mut callers, Timestamp::MAX, || {
        drop(elsewhere);
        drop(leaving);
    });
    assert_eq!(woken.iter().filter(|woken| **woken).count(), 1);
}

#[test]
fn a_job_for_later_wakes_only_if_none_looks_by_then() {
    let waker = Waker::default();
    let at = |millis: i64| Timestamp::from_millis(millis);
    let mut callers = [waker.listen(interest(None, &["a"], &[]))];
    let of_lane = lane("acme", "a", "mail");
    for (run_at, expected) in [(4_999, true), (5_000, false), (9_000, false), (1_000, true)] {
        let job = jobs(&of_lane, 1, at(run_at));
        let woken = woken_by(&mut callers, at(5_000), || {
            assert_eq!(waker.wake_for(&job, NOW), expected, "{run_at}");
        });
        assert_eq!(woken, [expected], "{run_at}");
    }
    // What callers elsewhere know of it is not known here.
    let job = jobs(&lane("acme", "z", "mail"), 1, at(9_000));
    assert!(waker.wake_for(&job, NOW));
}

#[cfg(feature = "postgres")]
#[test]
fn another_node_receives_the_same_or_everything_and_ignores_what_no_node_sends() {
    let mut reasons = jobs(&lane("acme", "a", "mail"), 3, NOW);
    reasons.schedule_waits();
    let told = WakeReasons::from_message(&reasons.to_messages(1_000)[0]).unwrap();
    assert_eq!(told.jobs.len(), 1);
    assert_eq!(told.jobs[&lane("acme", "a", "mail")].count, 3);
    assert!(told.schedules && !told.everything);
    for text in ["", &reasons.to_messages(10)[0]] {
        let told = WakeReasons::from_message(text);
        assert!(told.is_some_and(|told| told.everything), "{text}");
    }
    for text in ["x", "{}", "[1]", "wake up"] {
        assert!(WakeReasons::from_message(text).is_none(), "{text}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn what_one_message_cannot_hold_goes_out_in_several() {
    use crate::claim::{DueRange, FlowKeyId, Level};

    let mut reasons = WakeReasons::default();
    let mut ranges = std::collections::HashSet::new();
    for number in 0..1_000 {
        reasons.jobs_wait(&lane("acme", &format!("q{number}"), "mail"), 1, NOW);
        let flow_key = FlowKeyId {
            lane: number,
            number: i64::MIN + number,
        };
        let level = Level::new(9, true);
        let range = DueRange { flow_key, level };
        reasons.range_waits(range, None, Timestamp::MAX);
        reasons.attempt_ended(flow_key);
        ranges.insert(range);
    }
    assert!(!reasons.is_unknown(), "where jobs wait is known");
    let messages = reasons.to_messages(crate::limits::NOTIFY_BYTES_MAX);
    let told: Vec<WakeReasons> = messages
        .iter()
        .map(|text| WakeReasons::from_message(text).unwrap())
        .collect();
    assert!(told.iter().all(|told| !told.is_unknown()), "{messages:?}");
    let received = told.iter().flat_map(|told| told.ranges().keys().copied());
    assert_eq!(received.collect::<std::collections::HashSet<_>>(), ranges);
    let ended: usize = told.iter().map(|told| told.ended().len()).sum();
    assert_eq!(ended, 1_000);
    // Those who are woken find what the messages before have told.
    let wakes: Vec<bool> = told.iter().map(|told| told.all_callers).collect();
    assert!(wakes.last() == Some(&true) && wakes.iter().filter(|wakes| **wakes).count() == 1);
}
