//! Finds out whether the store is slow, and which creates a node admits while it is.
//!
//! A store that cannot keep up answers later and later, and each create that waits for it is held in memory.
//! A slow commit alone says little: it may wait for a lock that its own tenant holds. A fast one says that the
//! store works, whoever sent it. So the store is slow if commits were late for some seconds without a single
//! fast one; the node's heartbeat is measured as well, so that there is always one to learn from.
//!
//! Callers that all come back at once would slow the store down again. So a store that is fast again is given
//! more creates step by step, and is slow until it has kept up with all of them.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_core::{Tenant, duration, explain::brief};
use tokio::time::Instant;

use crate::limits::{
    SLOW_STORE_CREATES, SLOW_STORE_TENANT_DIVISOR, STORE_RECOVERY, STORE_RECOVERY_STEP,
    STORE_SLOW_AFTER,
};

/// Commits have taken too long for some seconds, so the node refuses most requests to create jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct StoreSlow {
    /// How long a commit may take.
    pub limit: Duration,
    /// How long ago commits began to take longer.
    pub slow_for: Duration,
    /// How long ago one was fast enough again; `None` if none was.
    pub recovering_for: Option<Duration>,
}

impl fmt::Display for StoreSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = duration::format(self.limit);
        match self.recovering_for.map(brief) {
            None => write!(
                f,
                "the store is slow: for {} commits have taken longer than {limit}, and few jobs are created \
                 until they are faster",
                brief(self.slow_for)
            ),
            Some(fast_for) => write!(
                f,
                "the store was slow until {fast_for} ago (commits took longer than {limit}), and more jobs \
                 are created step by step"
            ),
        }
    }
}

/// Measures the commits of a node.
#[derive(Debug)]
pub(crate) struct StoreMeter {
    /// A commit may take this long; zero if none is too slow.
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// When each commit began that has not ended, the oldest first.
    running: BTreeMap<u64, Instant>,
    last_fast: Option<Instant>,
    late: Option<LatePeriod>,
    incident: Option<Incident>,
}

/// A time in which commits took too long, and none was fast.
#[derive(Clone, Copy, Debug)]
struct LatePeriod {
    since: Instant,
    /// When the last of them ended.
    until: Instant,
}

/// A time in which the store is slow.
#[derive(Debug)]
struct Incident {
    began: Instant,
    recovering_since: Option<Instant>,
    /// Creates that were admitted since it began and have not ended, by tenant and of all.
    admitted: HashMap<Tenant, usize>,
    admitted_of_all: usize,
}

/// A commit that has begun.
pub(crate) struct CommitTimer<'m> {
    meter: &'m StoreMeter,
    number: u64,
    /// Whose create was admitted although the store is slow.
    admitted: Option<Tenant>,
    has_committed: bool,
}

impl StoreMeter {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Begins a commit that is never refused.
    pub(crate) fn begin(&self) -> CommitTimer<'_> {
        self.timer(&mut self.lock(), None)
    }

    /// Begins a create, unless the store is too slow for one more of this tenant.
    pub(crate) fn begin_create(&self, tenant: &Tenant) -> Result<CommitTimer<'_>, StoreSlow> {
        let now = Instant::now();
        let mut state = self.lock();
        state.update(self.limit, now);
        let Some(incident) = &mut state.incident else {
            return Ok(self.timer(&mut state, None));
        };
        if !incident.has_room(tenant, now) {
            return Err(incident.describe(self.limit, now));
        }
        *incident.admitted.entry(tenant.clone()).or_default() += 1;
        incident.admitted_of_all += 1;
        Ok(self.timer(&mut state, Some(tenant.clone())))
    }

    /// How slow the store is, if it is slow or has just recovered.
    pub(crate) fn problem(&self) -> Option<StoreSlow> {
        let now = Instant::now();
        let mut state = self.lock();
        state.update(self.limit, now);
        let incident = state.incident.as_ref()?;
        Some(incident.describe(self.limit, now))
    }

    fn timer(&self, state: &mut State, admitted: Option<Tenant>) -> CommitTimer<'_> {
        CommitTimer {
            meter: self,
            number: state.begin(Instant::now()),
            admitted,
            has_committed: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self, now: Instant) -> u64 {
        // Slow commits with nothing between them for a long time are no slow store.
        let is_old = |late: LatePeriod| now - late.until > STORE_SLOW_AFTER;
        if self.running.is_empty() && self.late.is_some_and(is_old) {
            self.late = None;
        }
        let number = self.next;
        self.next += 1;
        self.running.insert(number, now);
        number
    }

    fn end(&mut self, timer: &CommitTimer<'_>, now: Instant) {
        let limit = timer.meter.limit;
        self.update(limit, now);
        let Some(begun) = self.running.remove(&timer.number) else {
            return;
        };
        let is_late = now - begun > limit;
        if is_late {
            let since = self.late_since(begun + limit);
            self.late = Some(LatePeriod { since, until: now });
        } else if timer.has_committed {
            self.last_fast = Some(now);
            self.late = None;
        }
        if let Some(incident) = &mut self.incident {
            if !is_late && timer.has_committed {
                incident.recovering_since.get_or_insert(now);
            }
            if let Some(tenant) = &timer.admitted {
                incident.release(tenant);
            }
        }
    }

    /// Begins and ends the time in which the store is slow.
    fn update(&mut self, limit: Duration, now: Instant) {
        if limit.is_zero() {
            return;
        }
        let late_for = self.late_for(limit, now);
        let is_slow = late_for >= STORE_SLOW_AFTER;
        match &mut self.incident {
            None if is_slow => {
                self.incident = Some(Incident {
                    began: now - late_for,
                    recovering_since: None,
                    admitted: HashMap::new(),
                    admitted_of_all: 0,
                });
            }
            // What it was given was too much.
            Some(incident) if is_slow && incident.recovering_since.is_some() => {
                (incident.began, incident.recovering_since) = (now - late_for, None);
            }
            Some(incident) => {
                let is_over = |since: Instant| now - since >= STORE_RECOVERY;
                if incident.recovering_since.is_some_and(is_over) {
                    self.incident = None;
                }
            }
            None => {}
        }
    }

    /// For how long commits have been late without a fast one.
    fn late_for(&self, limit: Duration, now: Instant) -> Duration {
        // A commit that has not ended is at least this slow.
        let oldest = self.running.values().next();
        let overdue = oldest.filter(|begun| now - **begun > limit);
        match (overdue.map(|begun| *begun + limit), self.late) {
            (Some(at), _) => now - self.late_since(at),
            (None, Some(late)) => late.until - late.since,
            (None, None) => Duration::ZERO,
        }
    }

    /// Since when commits are late, if one of them is since this time.
    fn late_since(&self, at: Instant) -> Instant {
        let since = self.late.map_or(at, |late| late.since.min(at));
        self.last_fast.map_or(since, |fast| fast.max(since))
    }
}

impl Incident {
    /// Whether the store can take one more create of this tenant.
    fn has_room(&self, tenant: &Tenant, now: Instant) -> bool {
        let recovering = self.recovering_since.map(|since| (now - since).as_secs());
        let doublings = recovering.unwrap_or(0) / STORE_RECOVERY_STEP.as_secs();
        let most = SLOW_STORE_CREATES << doublings;
        let own = self.admitted.get(tenant).copied().unwrap_or(0);
        self.admitted_of_all < most && own < most / SLOW_STORE_TENANT_DIVISOR
    }

    fn release(&mut self, tenant: &Tenant) {
        // It may have been admitted in an earlier incident.
        let Some(count) = self.admitted.get_mut(tenant) else {
            return;
        };
        *count -= 1;
        self.admitted_of_all -= 1;
        if *count == 0 {
            self.admitted.remove(tenant);
        }
    }

    fn describe(&self, limit: Duration, now: Instant) -> StoreSlow {
        StoreSlow {
            limit,
            slow_for: now - self.began,
            recovering_for: self.recovering_since.map(|since| now - since),
        }
    }
}

impl CommitTimer<'_> {
    /// The store has answered. How long a commit took shows how fast the store is; an answer without one, an
    /// error or a caller that left only show that the store was slow, if they took long.
    pub(crate) fn end(mut self, has_committed: bool) {
        self.has_committed = has_committed;
    }
}

impl Drop for CommitTimer<'_> {
    fn drop(&mut self) {
        self.meter.lock().end(self, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);
    const SECOND: Duration = Duration::from_secs(1);

    async fn commit_in(meter: &StoreMeter, time: Duration) {
        let timer = meter.begin();
        advance(time).await;
        timer.end(true);
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    /// How many creates of a tenant are admitted, if none of them ends.
    fn admitted<'m>(meter: &'m StoreMeter, tenant: &Tenant) -> Vec<CommitTimer<'m>> {
        let begun = (0..SLOW_STORE_CREATES << 12).map_while(|_| meter.begin_create(tenant).ok());
        begun.collect()
    }

    #[tokio::test(start_paused = true)]
    async fn commits_that_stay_slow_make_the_store_slow() {
        let meter = StoreMeter::new(LIMIT);
        let mut slow_for = Vec::new();
        for _ in 0..5 {
            commit_in(&meter, 3 * SECOND).await;
            slow_for.push(meter.problem().map(|slow| slow.slow_for.as_secs()));
        }
        // From the end of what the first one might take.
        assert_eq!(slow_for, [None, None, None, Some(10), Some(13)]);
        assert_eq!(
            meter.problem().unwrap().to_string(),
            "the store is slow: for 13s commits have taken longer than 2s, and few jobs are created until \
             they are faster"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_store_takes_few_creates_at_a_time_and_half_of_them_of_one_tenant() {
        let meter = StoreMeter::new(LIMIT);
        let stuck = meter.begin();
        advance(LIMIT + STORE_SLOW_AFTER - Duration::from_millis(1)).await;
        assert_eq!(meter.problem(), None);
        advance(Duration::from_millis(1)).await;
        let loud = admitted(&meter, &tenant("loud"));
        let quiet = admitted(&meter, &tenant("quiet"));
        let part = SLOW_STORE_CREATES / SLOW_STORE_TENANT_DIVISOR;
        assert_eq!((loud.len(), quiet.len()), (part, part));
        assert!(meter.begin_create(&tenant("third")).is_err());
        drop(loud);
        assert!(meter.begin_create(&tenant("third")).is_ok());
        drop(stuck);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_fast_again_takes_more_creates_step_by_step() {
        let meter = StoreMeter::new(LIMIT);
        commit_in(&meter, LIMIT + STORE_SLOW_AFTER + SECOND).await;
        commit_in(&meter, SECOND).await;
        let slow = meter.problem().unwrap();
        assert_eq!(slow.recovering_for, Some(Duration::ZERO));
        advance(STORE_RECOVERY_STEP).await;
        assert_eq!(
            meter.problem().unwrap().to_string(),
            "the store was slow until 3s ago (commits took longer than 2s), and more jobs are created step \
             by step"
        );
        let own = tenant("own");
        let part = SLOW_STORE_CREATES / SLOW_STORE_TENANT_DIVISOR;
        assert_eq!(admitted(&meter, &own).len(), 2 * part);
        advance(STORE_RECOVERY - STORE_RECOVERY_STEP).await;
        assert_eq!(meter.problem(), None);
        assert_eq!(admitted(&meter, &own).len(), SLOW_STORE_CREATES << 12);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_slow_again_while_it_recovers_takes_few_creates_again() {
        let meter = StoreMeter::new(LIMIT);
        commit_in(&meter, LIMIT + STORE_SLOW_AFTER + SECOND).await;
        commit_in(&meter, SECOND).await;
        advance(2 * STORE_RECOVERY_STEP).await;
        commit_in(&meter, LIMIT + STORE_SLOW_AFTER + SECOND).await;
        let slow = meter.problem().unwrap();
        assert_eq!(slow.recovering_for, None);
        assert_eq!(slow.slow_for, STORE_SLOW_AFTER + SECOND);
        let part = SLOW_STORE_CREATES / SLOW_STORE_TENANT_DIVISOR;
        assert_eq!(admitted(&meter, &tenant("own")).len(), part);
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_that_waits_for_a_lock_does_not_make_the_store_slow() {
        let meter = StoreMeter::new(LIMIT);
        let blocked = meter.begin();
        for _ in 0..30 {
            advance(SECOND).await;
            meter.begin().end(true);
            assert_eq!(meter.problem(), None);
        }
        drop(blocked);
        assert_eq!(meter.problem(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn quick_answers_without_a_commit_do_not_show_that_the_store_is_fast() {
        let meter = StoreMeter::new(LIMIT);
        let _stuck = meter.begin();
        for _ in 0..11 {
            advance(SECOND).await;
            drop(meter.begin());
        }
        assert_eq!(meter.problem().unwrap().slow_for, 9 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_leave_after_a_long_wait_show_that_the_store_is_slow() {
        let meter = StoreMeter::new(LIMIT);
        for _ in 0..4 {
            let timer = meter.begin();
            advance(3 * SECOND).await;
            drop(timer);
        }
        assert_eq!(meter.problem().unwrap().slow_for, 10 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_commits_with_a_long_pause_between_them_do_not_make_the_store_slow() {
        let meter = StoreMeter::new(LIMIT);
        for _ in 0..5 {
            commit_in(&meter, 3 * SECOND).await;
            advance(STORE_SLOW_AFTER + SECOND).await;
            assert_eq!(meter.problem(), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_no_store_is_slow() {
        let meter = StoreMeter::new(Duration::ZERO);
        let _timer = meter.begin();
        advance(100 * SECOND).await;
        assert_eq!(meter.problem(), None);
    }
}
