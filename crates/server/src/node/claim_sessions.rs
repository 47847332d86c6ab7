//! The claims of responses that worker processes have not confirmed.
//!
//! A response that was written may still get lost: in a proxy, or in a network that does not pass
//! on the end of a connection. The server cannot notice that, but the worker's next claim says which
//! responses have arrived. What was in another one, no worker will ever run.
//!
//! The worker could name the claims that it holds instead. That would not be safe for jobs that start
//! at most once: a worker also holds a job no longer after it started it and lost its lease.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{Fence, JobId, Tenant, WorkerName};
use tokio_util::sync::CancellationToken;

use crate::limits::{CLAIM_SESSIONS_MAX, CLAIM_SESSIONS_PER_TENANT_MAX};

/// The sessions of this node. One that is forgotten loses nothing: its lost claims end with their
/// leases.
#[derive(Default)]
pub struct ClaimSessions {
    known: Mutex<Sessions>,
}

/// Names the process that a worker runs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    pub tenant: Option<Tenant>,
    pub worker: WorkerName,
    pub id: String,
}

/// A claim request within its session.
pub struct SessionTurn {
    pub key: SessionKey,
    pub sequence: u64,
    /// Claims of responses that did not arrive.
    pub lost: Vec<(JobId, Fence)>,
    /// A later request of the session has come: the worker no longer waits for this one.
    pub overtaken: CancellationToken,
}

#[derive(Default)]
struct Sessions {
    by_key: HashMap<SessionKey, Session>,
    /// Counts requests, to find the session that was used least recently.
    requests: u64,
}

struct Session {
    sequence: u64,
    /// The claims of the response to that request, and those that could not be given back.
    unconfirmed: Vec<(JobId, Fence)>,
    overtaken: CancellationToken,
    last_request: u64,
}

impl ClaimSessions {
    fn known(&self) -> MutexGuard<'_, Sessions> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request of a session that has received the response to an earlier one; `None` if a
    /// later request has begun.
    pub fn begin(&self, key: SessionKey, sequence: u64, received: u64) -> Option<SessionTurn> {
        let mut known = self.known();
        let is_overtaken = |session: &Session| session.sequence >= sequence;
        if known.by_key.get(&key).is_some_and(is_overtaken) {
            return None;
        }
        let mut lost = Vec::new();
        match known.by_key.remove(&key) {
            Some(earlier) => {
                earlier.overtaken.cancel();
                if earlier.sequence > received {
                    lost = earlier.unconfirmed;
                }
            }
            None => known.make_room(key.tenant.as_ref()),
        }
        known.requests += 1;
        let overtaken = CancellationToken::new();
        let session = Session {
            sequence,
            unconfirmed: Vec::new(),
            overtaken: overtaken.clone(),
            last_request: known.requests,
        };
        known.by_key.insert(key.clone(), session);
        Some(SessionTurn {
            key,
            sequence,
            lost,
            overtaken,
        })
    }

    /// Notes claims that the response to a request contains. False if the request was overtaken
    /// meanwhile: its response reaches no worker.
    pub fn give(&self, turn: &SessionTurn, claims: impl Iterator<Item = (JobId, Fence)>) -> bool {
        // A session that made room for others may still be that of a waiting worker.
        let mut known = self.known();
        let Some(session) = known.by_key.get_mut(&turn.key) else {
            return true;
        };
        if session.sequence != turn.sequence {
            return false;
        }
        session.unconfirmed.extend(claims);
        true
    }
}

impl Sessions {
    /// Forgets the session that was used least recently, if the tenant or the node has as many as
    /// it may have.
    fn make_room(&mut self, tenant: Option<&Tenant>) {
        let of_tenant = |key: &SessionKey| key.tenant.as_ref() == tenant;
        let own = self.by_key.keys().filter(|key| of_tenant(key)).count();
        let is_full = self.by_key.len() >= CLAIM_SESSIONS_MAX;
        if own < CLAIM_SESSIONS_PER_TENANT_MAX && !is_full {
            return;
        }
        let candidates = self.by_key.iter();
        let candidates = candidates.filter(|(key, _)| own == 0 || of_tenant(key));
        let oldest = candidates.min_by_key(|(_, session)| session.last_request);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.by_key.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tenant: &str, id: &str) -> SessionKey {
        SessionKey {
            tenant: Some(Tenant::new(tenant).unwrap()),
            worker: WorkerName::new("w").unwrap(),
            id: id.to_owned(),
        }
    }

    fn claim(number: u128) -> (JobId, Fence) {
        (JobId::from_bits(number), Fence(1))
    }

    #[test]
    fn only_claims_of_responses_that_did_not_arrive_are_lost() {
        let sessions = ClaimSessions::default();
        let begin = |sequence, received| sessions.begin(key("a", "s"), sequence, received).unwrap();
        let turn = begin(1, 0);
        assert!(sessions.give(&turn, [claim(1), claim(2)].into_iter()));
        let turn = begin(2, 1);
        assert_eq!(turn.lost, []);
        assert!(sessions.give(&turn, [claim(3)].into_iter()));
        // What could not be given back is found again.
        let turn = begin(5, 1);
        assert_eq!(turn.lost, [claim(3)]);
        assert!(sessions.give(&turn, [claim(3)].into_iter()));
        assert_eq!(begin(6, 1).lost, [claim(3)]);
        assert_eq!(begin(7, 1).lost, []);
    }

    #[test]
    fn a_later_request_ends_an_earlier_one_and_an_earlier_one_changes_nothing() {
        let sessions = ClaimSessions::default();
        let begin = |sequence| sessions.begin(key("a", "s"), sequence, 0);
        let first = begin(1).unwrap();
        let second = begin(2).unwrap();
        assert!(first.overtaken.is_cancelled());
        assert!(!sessions.give(&first, [claim(1)].into_iter()));
        assert!(sessions.give(&second, [claim(2)].into_iter()));
        assert!(begin(1).is_none());
        assert!(begin(2).is_none());
        assert!(!second.overtaken.is_cancelled());
        assert_eq!(begin(3).unwrap().lost, [claim(2)]);
    }

    #[test]
    fn a_session_takes_nothing_from_another_one() {
        let sessions = ClaimSessions::default();
        let turn = sessions.begin(key("a", "s"), 1, 0).unwrap();
        sessions.give(&turn, [claim(1)].into_iter());
        for other in [key("a", "t"), key("b", "s")] {
            assert_eq!(sessions.begin(other, 9, 0).unwrap().lost, []);
        }
        assert!(!turn.overtaken.is_cancelled());
    }

    #[test]
    fn a_tenant_with_too_many_sessions_forgets_its_own_oldest() {
        let sessions = ClaimSessions::default();
        for (tenant, number) in [("b", 1), ("a", 2)] {
            let turn = sessions.begin(key(tenant, "first"), 1, 0).unwrap();
            sessions.give(&turn, [claim(number)].into_iter());
        }
        for number in 0..CLAIM_SESSIONS_PER_TENANT_MAX {
            sessions.begin(key("a", &number.to_string()), 1, 0).unwrap();
        }
        let lost = |tenant| sessions.begin(key(tenant, "first"), 2, 0).unwrap().lost;
        assert_eq!(lost("a"), []);
        assert_eq!(lost("b"), [claim(1)]);
    }
}
