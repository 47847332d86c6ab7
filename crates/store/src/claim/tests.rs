use steadfast_core::{
    FlowKey, Gate, GateDefaults, GateId, GateLimits, GateScope, Kind, Queue, Rate, Tenant,
    Timestamp, WorkerName,
};

use super::*;
use crate::limits::{
    DUE_VIEWS_MAX, DUE_VIEWS_PER_TENANT_FREE, FLOW_KEYS_PER_TENANT_MAX, TENANT_SHARES_MAX,
    VIEW_CREDIT_MAX,
};

const RANGE: FlowKeyId = FlowKeyId { lane: 1, number: 0 };

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn range() -> DueRange {
    DueRange {
        flow_key: RANGE,
        level: Level::new(5, false),
    }
}

fn flow_key() -> FlowKey {
    FlowKey {
        tenant: Tenant::default(),
        queue: Queue::default(),
        kind: Kind::http(),
        destination: None,
        concurrency_key: None,
    }
}

fn plan(index: &mut DueIndex, now: i64) -> Vec<Pick> {
    let request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 10);
    let plan = index.plan(&request, 10, &SentJobs::default(), at(now));
    plan.into_iter().flat_map(|batch| batch.picks).collect()
}

/// Where the next claim begins to look.
fn oldest_live(index: &mut DueIndex, now: i64) -> Timestamp {
    let picks = plan(index, now);
    index.in_flight.end(picks[0].range, picks[0].in_flight);
    picks[0].oldest_live
}

fn index() -> DueIndex {
    let mut index = DueIndex::new(Writers::Many);
    index.add(range(), flow_key, at(1));
    index
}

#[test]
fn a_claim_begins_where_the_one_before_has_left_the_living() {
    let mut index = index();
    let picks = plan(&mut index, 100);
    assert_eq!(
        picks[0].oldest_live,
        Timestamp::EPOCH,
        "nothing is known of what lies dead"
    );
    assert!(index.finish(&picks[0], 10, Head::At(at(50)), at(100)));
    assert_eq!(oldest_live(&mut index, 100), at(50));
    // Whatever comes later and is earlier says so.
    index.add_known(range(), at(20));
    assert_eq!(oldest_live(&mut index, 100), at(20));
}

#[test]
fn what_comes_during_a_claim_is_not_passed_over() {
    let mut index = index();
    let picks = plan(&mut index, 100);
    for run_at in [70, 30, 90] {
        index.add_known(range(), at(run_at));
    }
    assert!(!index.finish(&picks[0], 10, Head::At(at(50)), at(100)));
    assert_eq!(oldest_live(&mut index, 100), at(30));
    // Though jobs come all the time, the dead are not walked over again.
    let picks = plan(&mut index, 100);
    index.add_known(range(), at(99));
    index.finish(&picks[0], 10, Head::At(at(60)), at(100));
    assert_eq!(oldest_live(&mut index, 100), at(60));
}

#[test]
fn of_two_claims_at_once_each_learns_what_it_may() {
    let mut index = index();
    let first = plan(&mut index, 100);
    index.add_known(range(), at(30));
    let second = plan(&mut index, 100);
    index.finish(&second[0], 10, Head::At(at(80)), at(100));
    assert_eq!(
        oldest_live(&mut index, 100),
        at(80),
        "it has seen what came before it"
    );
    index.finish(&first[0], 10, Head::At(at(40)), at(100));
    assert_eq!(oldest_live(&mut index, 100), at(80));
    // Claims that failed never tell their end.
    for _ in 0..100 {
        plan(&mut index, 100);
    }
    assert_eq!(
        index.in_flight.count(range()),
        crate::limits::RANGE_CLAIMS_MAX
    );
}

/// A tenant with many ranges has them in the same order as one with few.
#[test]
fn the_most_urgent_range_comes_first_however_many_there_are() {
    let mut order = order::TenantOrder::default();
    let tenant = Tenant::default();
    let range = |number: i64| DueRange {
        flow_key: FlowKeyId { lane: 1, number },
        level: Level::new(u8::try_from(number % 10).unwrap(), false),
    };
    let (share, count) = (steadfast_core::Share::default(), 300);
    for number in 0..count {
        order.insert(range(number), &tenant, share, at(number * 7 % count));
        order.insert(range(number), &tenant, share, at(number * 7 % count));
    }
    let mut found = Vec::new();
    while let Some((range, run_at)) = order.first_of(&tenant) {
        found.push((range.level.priority(), run_at));
        order.remove(range, &tenant, run_at);
    }
    assert!(order.is_empty());
    let mut expected: Vec<_> = (0..count)
        .map(|number| (range(number).level.priority(), at(number * 7 % count)))
        .collect();
    expected.sort_by_key(|(priority, run_at)| (std::cmp::Reverse(*priority), *run_at));
    assert_eq!(found, expected);
}

/// A charge costs the same with any number of tenants: nothing walks over all of them each time.
#[test]
fn shares_of_many_tenants_are_bounded() {
    let mut shares = shares::Shares::default();
    let gates = Gates::default();
    for number in 0..2 * TENANT_SHARES_MAX {
        let tenant = Tenant::new(&format!("t{number}")).unwrap();
        shares.charge(&tenant, 1, &gates);
    }
    assert!(shares.count() <= TENANT_SHARES_MAX);
}

/// Of gates there may be one for each concurrency key.
#[test]
fn how_a_gate_stands_is_known_while_jobs_pass_it_or_it_counts() {
    let at_most = GateLimits {
        max_running: Some(1),
        ..GateLimits::default()
    };
    let rate = GateLimits {
        rate: Rate::new(1, std::time::Duration::from_secs(60), 0).ok(),
        ..GateLimits::default()
    };
    for (limits, counted) in [(at_most, 0), (rate, 1)] {
        let mut index = DueIndex::new(Writers::One);
        let id = GateId::new(None, GateScope::Queue, "default").unwrap();
        let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
        index.set_gates(&Arc::new(gates));
        index.add(range(), flow_key, at(1));
        let picks = plan(&mut index, 100);
        index.finish(&picks[0], 1, Head::None, at(100));
        assert_eq!(index.states.len(), 1);
        index.remove_running(RANGE, at(101));
        assert_eq!((index.states.len(), index.idle_states.len()), (0, counted));
        index.add(range(), flow_key, at(102));
        assert_eq!((index.states.len(), index.idle_states.len()), (1, 0));
        assert_eq!(plan(&mut index, 103).len(), 1 - counted);
    }
}

/// Two tenants at a gate for one kind, and other work of both that no gate holds back.
struct SharedGate {
    index: DueIndex,
}

impl SharedGate {
    const RUNNING: FlowKeyId = FlowKeyId { lane: 9, number: 0 };

    /// All of the gate is in use. What the loud tenant has waiting there is let through first, because
    /// the quiet one has had more so far.
    fn new(quiet: &[(Kind, u8)]) -> Self {
        let mut index = DueIndex::new(Writers::One);
        let limits = GateLimits {
            max_running: Some(1),
            ..GateLimits::default()
        };
        let id = GateId::new(None, GateScope::Kind, "http").unwrap();
        let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
        index.set_gates(&Arc::new(gates));
        index.add_running(Self::RUNNING, || of("loud", &Kind::http()), 1);
        let mut this = Self { index };
        this.add("quiet", &other(), 9);
        let pick = this.choose();
        this.index.finish(&pick, 5, Head::None, at(100));
        for (kind, priority) in quiet {
            this.add("quiet", kind, *priority);
        }
        this.add("loud", &Kind::http(), 2);
        this.add("loud", &other(), 9);
        // Whatever the gate holds back is found to wait there.
        for pick in plan(&mut this.index, 100) {
            this.index.finish(&pick, 0, Head::At(at(1)), at(100));
        }
        this.index.remove_running(Self::RUNNING, at(100));
        this
    }

    fn add(&mut self, tenant: &str, kind: &Kind, priority: u8) {
        let flow_key = of(tenant, kind);
        let lane = i64::from(tenant == "loud") * 2 + i64::from(*kind == other());
        let range = DueRange {
            flow_key: FlowKeyId { lane, number: 0 },
            level: Level::new(priority, false),
        };
        self.index.add(range, || flow_key, at(1));
    }

    /// The range that a claim of one job takes from.
    fn choose(&mut self) -> Pick {
        let request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 10);
        self.index.catch_up(&request, at(100));
        let chosen = self
            .index
            .choose(&request, 1, &SentJobs::default(), at(100));
        chosen.unwrap().0
    }

    /// The tenant, kind and priority of what starts next.
    fn start(&mut self) -> (String, Kind, u8) {
        let pick = self.choose();
        self.index.finish(&pick, 1, Head::At(at(1)), at(100));
        let FlowKey { tenant, kind, .. } = &*pick.flow_key;
        let priority = pick.range.level.priority();
        (tenant.to_string(), kind.clone(), priority)
    }
}

fn other() -> Kind {
    Kind::new("other").unwrap()
}

fn of(tenant: &str, kind: &Kind) -> FlowKey {
    FlowKey {
        tenant: Tenant::new(tenant).unwrap(),
        kind: kind.clone(),
        ..flow_key()
    }
}

#[test]
fn room_that_a_tenant_does_not_use_is_there_for_the_more_urgent_job_of_another() {
    let mut gate = SharedGate::new(&[(Kind::http(), 9), (other(), 1)]);
    let started: Vec<_> = std::iter::repeat_with(|| gate.start())
        .find(|(tenant, ..)| tenant == "quiet")
        .into_iter()
        .collect();
    assert_eq!(started, [("quiet".to_owned(), Kind::http(), 9)]);
}

#[test]
fn room_that_a_tenant_does_not_use_is_there_for_another_that_has_nothing_else() {
    let mut gate = SharedGate::new(&[(Kind::http(), 5)]);
    let started: Vec<_> = std::iter::repeat_with(|| gate.start()).take(10).collect();
    let quiet = ("quiet".to_owned(), Kind::http(), 5);
    assert!(started.contains(&quiet), "{started:?}");
}

/// At a rate there is more room from moment to moment, also for what waits behind something that
/// was let through already.
#[test]
fn what_waits_at_a_rate_is_not_passed_by_what_is_less_urgent() {
    let mut index = DueIndex::new(Writers::One);
    let gate = |scope, key, limits| Gate {
        id: GateId::new(None, scope, key).unwrap(),
        limits,
    };
    let rate = GateLimits {
        rate: Rate::new(1, Duration::from_secs(10), 1).ok(),
        ..GateLimits::default()
    };
    let at_most = GateLimits {
        max_running: Some(2),
        ..GateLimits::default()
    };
    let gates = [
        gate(GateScope::Tenant, "default", rate),
        gate(GateScope::Queue, "default", at_most),
    ];
    index.set_gates(&Arc::new(Gates::new(gates, GateDefaults::default())));
    let of_queue = |name: &str| FlowKey {
        queue: Queue::new(name).unwrap(),
        ..flow_key()
    };
    let add = |index: &mut DueIndex, lane, queue, priority| {
        let range = DueRange {
            flow_key: FlowKeyId { lane, number: 0 },
            level: Level::new(priority, false),
        };
        index.add(range, || of_queue(queue), at(1));
    };
    add(&mut index, 1, "default", 9);
    add(&mut index, 1, "default", 7);
    index.add_running(RANGE, flow_key, 1);
    let by_rate = index.states.iter();
    let by_rate = by_rate.filter(|(_, entry)| entry.gate.limits.rate.is_some());
    let by_rate: Vec<GateNumber> = by_rate.map(|(number, _)| *number).collect();
    let state = GateState {
        next_start: at(120),
        ..GateState::default()
    };
    index.set_state(by_rate[0], state, at(100));
    assert!(plan(&mut index, 100).is_empty());
    let request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 10);
    index.catch_up(&request, at(110));
    add(&mut index, 2, "other", 5);
    let priorities = |picks: &[Pick]| -> Vec<u8> {
        let levels = picks.iter().map(|pick| pick.range.level);
        levels.map(|level| level.priority()).collect()
    };
    let picks = plan(&mut index, 120);
    assert_eq!(priorities(&picks), [9], "the other one may be next");
    index.finish(&picks[0], 0, Head::None, at(120));
    assert_eq!(priorities(&plan(&mut index, 120)), [7, 5]);
}

#[test]
fn a_changed_gate_concerns_only_the_flow_keys_that_pass_it() {
    let mut index = DueIndex::new(Writers::One);
    let key = steadfast_core::ConcurrencyKey::new("k").unwrap();
    let of = |tenant: &str, queue: &str| FlowKey {
        tenant: Tenant::new(tenant).unwrap(),
        queue: Queue::new(queue).unwrap(),
        concurrency_key: (queue == "keyed").then(|| key.clone()),
        ..flow_key()
    };
    let flow_keys = [("a", "x"), ("a", "keyed"), ("b", "x"), ("b", "keyed")];
    for (number, (tenant, queue)) in (0..).zip(flow_keys) {
        let range = DueRange {
            flow_key: FlowKeyId { lane: 1, number },
            level: Level::new(5, false),
        };
        index.add(range, || of(tenant, queue), at(1));
    }
    let tenant = |name: &str| Some(Tenant::new(name).unwrap());
    for (of, scope, key, expected) in [
        (None, GateScope::Queue, "x", vec![0, 2]),
        (tenant("b"), GateScope::Queue, "x", vec![2]),
        (None, GateScope::Tenant, "a", vec![0, 1]),
        (tenant("a"), GateScope::Key, "k", vec![1]),
        (None, GateScope::Kind, "other", vec![]),
    ] {
        let id = GateId::new(of, scope, key).unwrap();
        let change = steadfast_core::GatesChange {
            set: vec![id.clone()],
            ..Default::default()
        };
        let affected = index.affected(&change);
        let numbers: Vec<i64> = affected.iter().map(|id| id.number).collect();
        assert_eq!(numbers, expected, "{id:?}");
    }
}

#[test]
fn a_tenant_that_names_ever_new_kinds_is_told_to_come_later_and_others_keep_their_views() {
    let mut index = DueIndex::new(Writers::One);
    let tenant = |name: &str| Tenant::new(name).unwrap();
    let add = |index: &mut DueIndex, name: &str, number: i64| {
        let flow_key = FlowKey {
            tenant: tenant(name),
            concurrency_key: steadfast_core::ConcurrencyKey::new(&number.to_string()).ok(),
            ..flow_key()
        };
        let id = FlowKeyId { lane: 1, number };
        let level = Level::new(5, false);
        index.add(
            DueRange {
                flow_key: id,
                level,
            },
            || flow_key,
            at(1),
        );
    };
    for number in 1..=10_000 {
        add(&mut index, "evil", number);
    }
    add(&mut index, "good", 20_000);
    let request = |name: &str, kinds: &[&str]| ClaimRequest {
        tenant: Some(tenant(name)),
        kinds: kinds.iter().map(|kind| Kind::new(kind).unwrap()).collect(),
        ..ClaimRequest::new(WorkerName::new("w1").unwrap(), 10)
    };
    assert!(index.view(&request("good", &[]), at(10)).is_ok());
    // Where nothing waits, no view is made.
    let nothing = request("evil", &["made-up"]);
    assert_eq!(index.view(&nothing, at(10)), Err(NoView::Nothing));
    let made = (0..1_000).filter(|number| {
        let new = format!("made-up-{number}");
        let request = request("evil", &["http", &new]);
        index.view(&request, at(10)).is_ok()
    });
    let paid = usize::try_from(VIEW_CREDIT_MAX).unwrap() / 10_000;
    assert_eq!(made.count(), DUE_VIEWS_PER_TENANT_FREE + paid);
    // Those that it has, and those of others, are used on.
    assert!(
        index
            .view(&request("evil", &["http", "made-up-0"]), at(10))
            .is_ok()
    );
    let views = index.views.len();
    assert!(index.view(&request("good", &[]), at(10)).is_ok());
    assert_eq!(index.views.len(), views);
    // With time it has credit again.
    let next = request("evil", &["http", "another"]);
    assert!(index.view(&next, at(10)).is_err());
    assert_eq!(index.next_due(&next, at(10)), Some(at(11)));
    assert!(index.view(&next, at(11)).is_ok());
}

#[test]
fn views_of_one_tenant_do_not_push_out_those_of_others() {
    let mut index = index();
    let mut request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 10);
    assert!(index.view(&request, at(10)).is_ok());
    request.tenant = Some(Tenant::default());
    for number in 0..3 * DUE_VIEWS_MAX {
        let name = format!("k{number}");
        request.kinds = vec![Kind::http(), Kind::new(&name).unwrap()];
        assert!(index.view(&request, at(10)).is_ok());
    }
    assert_eq!(index.views.len(), DUE_VIEWS_MAX);
    let all = index.views.iter().filter(|view| view.tenant().is_none());
    assert_eq!(all.count(), 1);
}

#[test]
fn a_tenant_is_full_of_flow_keys_until_nothing_waits_in_one() {
    let nth = |number: usize| DueRange {
        flow_key: FlowKeyId {
            lane: 1,
            number: i64::try_from(number).unwrap(),
        },
        ..range()
    };
    let mut index = index();
    for number in 1..FLOW_KEYS_PER_TENANT_MAX {
        let (own, other) = (Tenant::default(), Tenant::new("other").unwrap());
        assert!(!index.is_full_for(&own, at(100)), "{number}");
        index.add(nth(number), flow_key, at(200));
        assert!(!index.is_full_for(&other, at(100)), "of another tenant");
    }
    assert!(index.is_full_for(&Tenant::default(), at(100)));
    // Nothing waits in the first. The index searches for room once a second at most.
    let picks = plan(&mut index, 100);
    index.finish(&picks[0], 10, Head::None, at(100));
    assert!(index.is_full_for(&Tenant::default(), at(100)));
    assert!(!index.is_full_for(&Tenant::default(), at(102)));
    assert!(!index.knows(RANGE) && index.knows(nth(1).flow_key));
}
