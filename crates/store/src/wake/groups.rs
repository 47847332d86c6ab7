//! Those that wait, by what they wait for.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    task,
};

use steadfast_core::{Kind, Queue, Tenant, Timestamp};

use super::interest::{WaitingJobs, WakeInterest, WakeReasons};
use crate::lane::Lane;

#[derive(Default)]
pub(super) struct Groups {
    next_id: u64,
    callers: HashMap<u64, Caller>,
    groups: HashMap<Arc<WakeInterest>, Group>,
    /// Where a lane finds the groups that may want it, under one name of theirs each: a kind if
    /// they name kinds, else a queue, else nothing but the tenant.
    by_kind: HashMap<(Option<Tenant>, Kind), Interests>,
    by_queue: HashMap<(Option<Tenant>, Queue), Interests>,
    by_tenant: HashMap<Option<Tenant>, Interests>,
}

type Interests = Vec<Arc<WakeInterest>>;

struct Caller {
    interest: Arc<WakeInterest>,
    state: CallerState,
}

enum CallerState {
    /// It looks, or does something else; a wake-up is kept for it.
    Awake,
    /// It waits, and looks by itself at the time.
    Parked(task::Waker, Timestamp),
    /// A wake-up is kept for it.
    Woken,
}

/// Callers that wait for the same.
#[derive(Default)]
struct Group {
    members: usize,
    awake: BTreeSet<u64>,
    parked: BTreeSet<u64>,
    /// When those that wait look by themselves.
    looks: BTreeSet<(Timestamp, u64)>,
    last_look: Option<Timestamp>,
}

impl Group {
    /// Whether one of them looks at this time or sooner without being woken.
    fn looks_by(&self, time: Timestamp) -> bool {
        self.looks.first().is_some_and(|(first, _)| *first <= time)
    }
}

impl Groups {
    pub(super) fn join(&mut self, interest: Arc<WakeInterest>) -> u64 {
        let interest = match self.groups.get_key_value(&interest) {
            Some((known, _)) => known.clone(),
            None => {
                self.index(&interest, true);
                interest
            }
        };
        let id = self.next_id;
        self.next_id += 1;
        let group = self.groups.entry(interest.clone()).or_default();
        group.members += 1;
        group.awake.insert(id);
        let state = CallerState::Awake;
        self.callers.insert(id, Caller { interest, state });
        id
    }

    /// One more like another.
    pub(super) fn join_as(&mut self, other: u64) -> u64 {
        let other = self.callers.get(&other);
        let interest = other.map(|caller| caller.interest.clone());
        self.join(interest.unwrap_or(Arc::new(WakeInterest::Everything)))
    }

    /// A caller leaves. Answers with another to wake, which may be the only one now to learn when
    /// the next job is due.
    pub(super) fn leave(&mut self, id: u64) -> Option<task::Waker> {
        self.set_state(id, CallerState::Woken);
        let Caller { interest, .. } = self.callers.remove(&id)?;
        let group = self.groups.get_mut(&interest)?;
        group.members -= 1;
        if group.members == 0 {
            self.groups.remove(&interest);
            self.index(&interest, false);
            return None;
        }
        let successor = *group.parked.first()?;
        self.set_state(successor, CallerState::Woken)
    }

    /// A caller waits. Answers whether it has to.
    pub(super) fn park(&mut self, id: u64, waker: &task::Waker, until: Timestamp) -> bool {
        let Some(caller) = self.callers.get(&id) else {
            return true;
        };
        if matches!(caller.state, CallerState::Woken) {
            self.set_state(id, CallerState::Awake);
            return false;
        }
        self.set_state(id, CallerState::Parked(waker.clone(), until));
        true
    }

    /// A caller stops waiting, woken or not.
    pub(super) fn unpark(&mut self, id: u64) {
        let caller = self.callers.get(&id);
        if caller.is_some_and(|caller| matches!(caller.state, CallerState::Parked(..))) {
            self.set_state(id, CallerState::Awake);
        }
    }

    pub(super) fn mark_look(&mut self, id: u64, now: Timestamp) {
        if let Some(caller) = self.callers.get(&id)
            && let Some(group) = self.groups.get_mut(&caller.interest)
        {
            group.last_look = Some(now);
        }
    }

    pub(super) fn last_look(&self, id: u64) -> Option<Timestamp> {
        self.groups.get(&self.callers.get(&id)?.interest)?.last_look
    }

    /// Wakes those whom it concerns. Answers whether callers elsewhere may be concerned.
    pub(super) fn wake(
        &mut self,
        reasons: &WakeReasons,
        now: Timestamp,
        wakers: &mut Vec<task::Waker>,
    ) -> bool {
        if reasons.everything || reasons.all_callers {
            let interests: Vec<_> = self.groups.keys().cloned().collect();
            for interest in interests {
                self.wake_group(&interest, usize::MAX, wakers);
            }
            return true;
        }
        if !reasons.is_empty() {
            let everything = Arc::new(WakeInterest::Everything);
            self.wake_group(&everything, usize::MAX, wakers);
        }
        if reasons.schedules {
            let schedules = Arc::new(WakeInterest::Schedules);
            self.wake_group(&schedules, usize::MAX, wakers);
        }
        if reasons.links {
            self.wake_group(&Arc::new(WakeInterest::Links), usize::MAX, wakers);
        }
        let mut concerns_others = reasons.schedules;
        for (lane, waiting) in &reasons.jobs {
            concerns_others |= self.wake_for_jobs(lane, *waiting, now, wakers);
        }
        concerns_others
    }

    fn wake_for_jobs(
        &mut self,
        lane: &Lane,
        waiting: WaitingJobs,
        now: Timestamp,
        wakers: &mut Vec<task::Waker>,
    ) -> bool {
        let is_due = waiting.earliest <= now;
        let interests = self.interests_in(lane);
        let mut concerns_others = is_due || interests.is_empty();
        for interest in interests {
            let group = self.groups.get(&interest);
            if is_due || group.is_none_or(|group| !group.looks_by(waiting.earliest)) {
                self.wake_group(&interest, waiting.count, wakers);
                concerns_others = true;
            }
        }
        concerns_others
    }

    /// Those who are awake may have looked too early, so they learn of it as well; of those who wait,
    /// one for each job is enough.
    fn wake_group(
        &mut self,
        interest: &Arc<WakeInterest>,
        count: usize,
        wakers: &mut Vec<task::Waker>,
    ) {
        let Some(group) = self.groups.get(interest) else {
            return;
        };
        let parked = group.parked.iter().take(count);
        let told: Vec<u64> = group.awake.iter().chain(parked).copied().collect();
        for id in told {
            wakers.extend(self.set_state(id, CallerState::Woken));
        }
    }

    /// The groups that want jobs of a lane.
    fn interests_in(&self, lane: &Lane) -> Interests {
        let mut found = Vec::new();
        for tenant in [None, Some(lane.tenant.clone())] {
            let lists = [
                self.by_kind.get(&(tenant.clone(), lane.kind.clone())),
                self.by_queue.get(&(tenant.clone(), lane.queue.clone())),
                self.by_tenant.get(&tenant),
            ];
            let named = lists.into_iter().flatten().flatten();
            found.extend(named.filter(|interest| interest.wants(lane)).cloned());
        }
        found
    }

    fn index(&mut self, interest: &Arc<WakeInterest>, present: bool) {
        let WakeInterest::Jobs {
            tenant,
            queues,
            kinds,
            ..
        } = &**interest
        else {
            return;
        };
        for kind in kinds {
            let key = (tenant.clone(), kind.clone());
            set_listed(&mut self.by_kind, key, interest, present);
        }
        if kinds.is_empty() {
            for queue in queues {
                let key = (tenant.clone(), queue.clone());
                set_listed(&mut self.by_queue, key, interest, present);
            }
        }
        if kinds.is_empty() && queues.is_empty() {
            set_listed(&mut self.by_tenant, tenant.clone(), interest, present);
        }
    }

    /// Every change of a caller passes through here. Answers with its waker if it was waiting.
    fn set_state(&mut self, id: u64, state: CallerState) -> Option<task::Waker> {
        let caller = self.callers.get_mut(&id)?;
        let group = self.groups.get_mut(&caller.interest)?;
        match &state {
            CallerState::Awake => {
                group.awake.insert(id);
                group.parked.remove(&id);
            }
            CallerState::Parked(_, until) => {
                group.awake.remove(&id);
                group.parked.insert(id);
                group.looks.insert((*until, id));
            }
            CallerState::Woken => {
                group.awake.remove(&id);
                group.parked.remove(&id);
            }
        }
        let kept = match &state {
            CallerState::Parked(_, until) => Some(*until),
            _ => None,
        };
        match std::mem::replace(&mut caller.state, state) {
            CallerState::Parked(waker, until) => {
                if kept != Some(until) {
                    group.looks.remove(&(until, id));
                }
                Some(waker)
            }
            _ => None,
        }
    }
}

fn set_listed<K: std::hash::Hash + Eq>(
    lists: &mut HashMap<K, Interests>,
    key: K,
    interest: &Arc<WakeInterest>,
    present: bool,
) {
    if present {
        lists.entry(key).or_default().push(interest.clone());
    } else if let Some(list) = lists.get_mut(&key) {
        list.retain(|listed| listed != interest);
        if list.is_empty() {
            lists.remove(&key);
        }
    }
}
