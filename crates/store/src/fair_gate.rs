//! Lets callers in by turns where only some may be at a time.
//!
//! Requests are served in the order in which they come, while there is room. If callers have to wait, tenants
//! take turns, and none is in more often than its part, however many requests it sends. A tenant that is
//! alone may have a larger part: nobody else needs the rest.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_core::Tenant;
use tokio::{sync::oneshot, time::Instant};

use crate::caller::StoreCaller;

/// From this many waiting requests of one caller on, those that have left are looked for.
const WAITING_CHECKED: usize = 64; // not a limit: how often it is looked

/// How long a tenant counts as active after a request. Between two requests of a client that waits for
/// each answer, the others do not spread again.
const ACTIVE_FOR: Duration = Duration::from_secs(1); // not a limit: how long it is remembered

/// Room that callers share.
#[derive(Debug)]
pub struct FairGate {
    /// How much of it one tenant may have at a time.
    part: TenantPart,
    state: Mutex<State>,
}

/// How much of a room one tenant may have at a time.
#[derive(Clone, Copy, Debug)]
pub struct TenantPart {
    /// While no other tenant sends requests.
    pub alone: usize,
    /// While others do.
    pub beside_others: usize,
}

/// A tenant has as many waiting requests as it may have.
#[derive(Clone, Copy, Debug)]
pub struct QueueFull;

#[derive(Debug)]
struct State {
    free: usize,
    /// Whose request came last.
    last: Option<Option<Tenant>>,
    /// Until when tenants count as not alone.
    shared_until: Option<Instant>,
    callers: HashMap<StoreCaller, Entry>,
    /// Callers that wait, the next one first.
    turns: VecDeque<StoreCaller>,
}

#[derive(Debug, Default)]
struct Entry {
    inside: usize,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    weight: usize,
    admit: oneshot::Sender<Admission>,
}

/// Room that a caller has, until it is dropped.
#[derive(Debug)]
pub struct Admission {
    gate: Arc<FairGate>,
    caller: StoreCaller,
    weight: usize,
}

impl FairGate {
    /// A gate with this room, of which one tenant may have a part at a time. Callers of all tenants may have all.
    pub fn new(room: usize, per_tenant: usize) -> Arc<Self> {
        let part = TenantPart {
            alone: per_tenant,
            beside_others: per_tenant,
        };
        Self::with_part(room, part)
    }

    /// The same with a part that is smaller while others send requests.
    pub fn with_part(room: usize, part: TenantPart) -> Arc<Self> {
        let room = room.max(1);
        let alone = part.alone.clamp(1, room);
        Arc::new(Self {
            part: TenantPart {
                alone,
                beside_others: part.beside_others.clamp(1, alone),
            },
            state: Mutex::new(State {
                free: room,
                last: None,
                shared_until: None,
                callers: HashMap::new(),
                turns: VecDeque::new(),
            }),
        })
    }

    /// Waits for room. The node itself needs none.
    pub async fn enter(
        self: &Arc<Self>,
        caller: Option<StoreCaller>,
        weight: usize,
    ) -> Option<Admission> {
        let caller = caller?;
        let entering = self.enter_or_refuse(caller, weight, usize::MAX);
        entering.await.ok().flatten()
    }

    /// The same, refused if that many requests of this caller wait already.
    pub(crate) async fn enter_or_refuse(
        self: &Arc<Self>,
        caller: StoreCaller,
        weight: usize,
        waiting_max: usize,
    ) -> Result<Option<Admission>, QueueFull> {
        let weight = weight.clamp(1, self.part.beside_others);
        let (admit, admitted) = oneshot::channel();
        let gone = {
            let mut state = self.lock();
            state.note(&caller, Instant::now());
            if let Some(entry) = state.callers.get(&caller)
                && entry.waiting.len() >= waiting_max
            {
                let waiting = entry.waiting.iter().filter(|it| !it.admit.is_closed());
                if waiting.count() >= waiting_max {
                    return Err(QueueFull);
                }
            }
            let entry = state.callers.entry(caller.clone()).or_default();
            if entry.waiting.is_empty() {
                state.turns.push_back(caller.clone());
            }
            let entry = state.callers.entry(caller).or_default();
            entry.waiting.push_back(Waiting { weight, admit });
            let waiting = entry.waiting.len();
            if waiting >= WAITING_CHECKED && waiting.is_power_of_two() {
                entry.waiting.retain(|it| !it.admit.is_closed());
            }
            self.admit(&mut state)
        };
        drop(gone);
        Ok(admitted.await.ok())
    }

    /// Admits the waiting requests that have room, in turns. Answers the room of those whose caller
    /// has left at that moment.
    fn admit(self: &Arc<Self>, state: &mut State) -> Vec<Admission> {
        let (mut gone, mut refused) = (Vec::new(), 0);
        let part = match state.shared_until {
            Some(until) if Instant::now() < until => self.part.beside_others,
            _ => self.part.alone,
        };
        while state.free > 0
            && refused < state.turns.len()
            && let Some(caller) = state.turns.pop_front()
        {
            let most = match caller.tenant {
                Some(_) => part,
                None => usize::MAX,
            };
            let free = state.free;
            let entry = state.callers.entry(caller.clone()).or_default();
            // Those whose caller has left are passed over, however many they are.
            while entry.waiting.front().is_some_and(|it| it.admit.is_closed()) {
                entry.waiting.pop_front();
            }
            let Some(next) = entry.waiting.front() else {
                if entry.inside == 0 {
                    state.callers.remove(&caller);
                }
                continue;
            };
            let fits = next.weight <= free && entry.inside + next.weight <= most;
            let next = if fits {
                entry.waiting.pop_front()
            } else {
                None
            };
            let Some(waiting) = next else {
                state.turns.push_back(caller);
                refused += 1;
                continue;
            };
            refused = 0;
            entry.inside += waiting.weight;
            if !entry.waiting.is_empty() {
                state.turns.push_back(caller.clone());
            }
            state.free -= waiting.weight;
            let admission = Admission {
                gate: self.clone(),
                caller,
                weight: waiting.weight,
            };
            gone.extend(waiting.admit.send(admission).err());
        }
        gone
    }

    fn leave(self: &Arc<Self>, caller: &StoreCaller, weight: usize) {
        let gone = {
            let mut state = self.lock();
            state.note(caller, Instant::now());
            state.free += weight;
            if let Some(entry) = state.callers.get_mut(caller) {
                entry.inside -= weight;
                if entry.inside == 0 && entry.waiting.is_empty() {
                    state.callers.remove(caller);
                }
            }
            self.admit(&mut state)
        };
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// At a request of this caller, and at its end. Two tenants are active if their requests come in
    /// turns, and while both have one.
    fn note(&mut self, caller: &StoreCaller, now: Instant) {
        let is_other = |tenant: &Option<Tenant>| *tenant != caller.tenant;
        let mut present = self.callers.keys();
        if self.last.as_ref().is_some_and(is_other) || present.any(|it| is_other(&it.tenant)) {
            self.shared_until = Some(now + ACTIVE_FOR);
        }
        if self.last.as_ref() != Some(&caller.tenant) {
            self.last = Some(caller.tenant.clone());
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.gate.leave(&self.caller, self.weight);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use steadfast_core::Tenant;

    use super::*;

    fn of(tenant: &str) -> Option<StoreCaller> {
        Some(StoreCaller {
            tenant: Tenant::new(tenant).ok(),
            works: false,
            reads: false,
        })
    }

    #[tokio::test]
    async fn a_tenant_with_many_requests_leaves_room_and_turns_to_others() {
        let gate = FairGate::new(4, 3);
        let enter = |tenant| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.enter(of(tenant), 1).await.unwrap() })
        };
        let mut loud = Vec::new();
        for _ in 0..3 {
            loud.push(gate.enter(of("loud"), 1).await.unwrap());
        }
        assert!(gate.enter(of("loud"), 1).now_or_never().is_none());
        let waiting: Vec<_> = (0..100).map(|_| enter("loud")).collect();
        tokio::task::yield_now().await;
        let quiet = gate.enter(of("quiet"), 1).now_or_never();
        assert!(quiet.is_some(), "there is room for it");
        let next = enter("quiet");
        tokio::task::yield_now().await;
        // One that leaves makes room for the other tenant, although a hundred came before.
        drop(loud.pop());
        drop(quiet);
        next.await.unwrap();
        drop(loud);
        for each in waiting {
            drop(each.await.unwrap());
        }
        assert_eq!(gate.lock().free, 4);
        assert!(gate.lock().callers.is_empty());
    }

    #[tokio::test]
    async fn one_who_left_while_waiting_keeps_no_room() {
        let gate = FairGate::new(1, 1);
        let first = gate.enter(of("a"), 1).await;
        assert!(gate.enter(of("b"), 1).now_or_never().is_none());
        drop(first);
        assert!(gate.enter(of("c"), 5).now_or_never().is_some());
        assert!(gate.enter(None, 1).await.is_none(), "the node needs none");
    }

    #[tokio::test]
    async fn many_that_left_cost_neither_memory_nor_a_deep_stack() {
        let gate = FairGate::new(1, 1);
        let first = gate.enter(of("a"), 1).await;
        for _ in 0..100_000 {
            assert!(gate.enter(of("a"), 1).now_or_never().is_none());
        }
        let waiting = gate.lock().callers[&of("a").unwrap()].waiting.len();
        assert!(waiting <= WAITING_CHECKED, "{waiting} are kept");
        drop(first);
        assert!(gate.lock().callers.is_empty());
        assert!(gate.enter(of("b"), 1).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_less_while_others_are_active() {
        let part = TenantPart {
            alone: 3,
            beside_others: 1,
        };
        let gate = FairGate::with_part(usize::MAX, part);
        let mut loud = Vec::new();
        for _ in 0..3 {
            loud.push(gate.enter(of("loud"), 1).await.unwrap());
        }
        let quiet = gate.enter(of("quiet"), 1).now_or_never();
        assert!(quiet.is_some(), "it has a part of its own");
        drop((loud.pop(), loud.pop(), quiet));
        assert!(gate.enter(of("loud"), 1).now_or_never().is_none());
        tokio::time::advance(ACTIVE_FOR).await;
        assert!(gate.enter(of("loud"), 1).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_is_active_for_as_long_as_its_request_takes() {
        let part = TenantPart {
            alone: 3,
            beside_others: 1,
        };
        let gate = FairGate::with_part(usize::MAX, part);
        let quiet = gate.enter(of("quiet"), 1).await;
        let first = gate.enter(of("loud"), 1).await;
        tokio::time::advance(ACTIVE_FOR * 2).await;
        assert!(gate.enter(of("loud"), 1).now_or_never().is_none());
        drop(quiet);
        assert!(gate.enter(of("loud"), 1).now_or_never().is_none());
        tokio::time::advance(ACTIVE_FOR).await;
        assert!(gate.enter(of("loud"), 1).now_or_never().is_some());
        drop(first);
    }

    #[tokio::test]
    async fn a_queue_that_is_full_refuses_at_once() {
        let gate = FairGate::new(1, 1);
        let first = gate.enter(of("a"), 1).await;
        let enter = |tenant| gate.enter_or_refuse(of(tenant).unwrap(), 1, 1);
        let mut waiting = Box::pin(enter("a"));
        assert!((&mut waiting).now_or_never().is_none());
        assert!(enter("a").now_or_never().unwrap().is_err());
        assert!(enter("b").now_or_never().is_none(), "its queue is its own");
        drop(waiting);
        assert!(enter("a").now_or_never().is_none(), "the other has left");
        drop(first);
    }

    #[tokio::test]
    async fn work_does_not_wait_behind_lists_of_its_own_tenant() {
        let gate = FairGate::new(2, 1);
        let _list = gate.enter(of("a"), 1).await;
        let work = StoreCaller {
            works: true,
            ..of("a").unwrap()
        };
        assert!(gate.enter(Some(work), 1).now_or_never().is_some());
    }
}
