//! Notices of this node that wait to be stored for other nodes.
//!
//! There may be more of them than nodes can pass on. While there is room, all are kept. Then the
//! tenant with the most gives way, so a flood of one tenant hides no event of another.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use steadfast_core::{Payload, Tenant};

use crate::{
    limits::FEED_BATCH_BYTES_MAX,
    notice::{JobEvent, Notice},
};

#[derive(Default)]
pub struct FeedBatch {
    /// Another node wants the notices.
    is_open: AtomicBool,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    tenants: BTreeMap<Tenant, TenantPart>,
    bytes: usize,
    /// Counts notices, for their order.
    pushed: u64,
    missed: u64,
}

#[derive(Default)]
struct TenantPart {
    bytes: usize,
    /// With their numbers.
    notices: Vec<(u64, Payload)>,
}

/// The notices since the last time.
#[derive(Default)]
pub struct TakenNotices {
    /// As JSON, in their order.
    pub notices: Vec<Payload>,
    /// How many there was no room for.
    pub missed: u64,
}

impl FeedBatch {
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Begins to keep notices, or stops and forgets them.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
        if !is_open {
            *self.lock() = Contents::default();
        }
    }

    /// Keeps a notice, if another node wants it and there is room.
    pub fn push(&self, notice: &Notice) {
        if !self.is_open() {
            return;
        }
        match Payload::encode(&without_trace(notice)) {
            Ok(json) => {
                let is_log = notice.event == JobEvent::Logged;
                self.lock().push(&notice.tenant, json, is_log);
            }
            Err(error) => {
                tracing::error!(jobId = %notice.job, %error, "cannot encode a notice for other nodes");
            }
        }
    }

    pub fn take(&self) -> TakenNotices {
        let contents = std::mem::take(&mut *self.lock());
        let parts = contents.tenants.into_values();
        let mut notices: Vec<_> = parts.flat_map(|part| part.notices).collect();
        notices.sort_by_key(|(number, _)| *number);
        TakenNotices {
            notices: notices.into_iter().map(|(_, json)| json).collect(),
            missed: contents.missed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn push(&mut self, tenant: &Tenant, json: Payload, is_log: bool) {
        let bytes = json.as_str().len();
        // An attempt that logs only makes pages refresh, which they also do by themselves.
        if is_log && self.bytes + bytes > FEED_BATCH_BYTES_MAX / 2 {
            return;
        }
        if !self.make_room(tenant, bytes) {
            self.missed += 1;
            return;
        }
        self.pushed += 1;
        self.bytes += bytes;
        let part = self.tenants.entry(tenant.clone()).or_default();
        part.bytes += bytes;
        part.notices.push((self.pushed, json));
    }

    /// Removes the newest notices of the tenant with the most, while that is more than this tenant
    /// would have. Answers whether there is room.
    fn make_room(&mut self, tenant: &Tenant, bytes: usize) -> bool {
        if self.bytes + bytes <= FEED_BATCH_BYTES_MAX {
            return true;
        }
        let own = self.tenants.get(tenant).map_or(0, |part| part.bytes);
        // Quick for a tenant that floods: it has its share.
        if own > 0 && own + bytes > FEED_BATCH_BYTES_MAX / self.tenants.len() {
            return false;
        }
        while self.bytes + bytes > FEED_BATCH_BYTES_MAX {
            let largest = self.tenants.values_mut().max_by_key(|part| part.bytes);
            let Some(largest) = largest.filter(|part| part.bytes > own + bytes) else {
                return false;
            };
            let Some((_, newest)) = largest.notices.pop() else {
                return false;
            };
            largest.bytes -= newest.as_str().len();
            self.bytes -= newest.as_str().len();
            self.missed += 1;
        }
        true
    }
}

/// A stack trace may be as long as hundreds of notices; the record of the attempt has it.
fn without_trace(notice: &Notice) -> Notice {
    let mut notice = notice.clone();
    let failure = match &mut notice.event {
        JobEvent::Retrying { failure, .. } => Some(failure),
        JobEvent::Failed { failure, .. } => failure.as_mut(),
        _ => None,
    };
    if let Some(failure) = failure {
        failure.trace = None;
    }
    notice
}

#[cfg(test)]
mod tests {
    use steadfast_core::{Failure, FailureClass, JobId, Kind, Queue};

    use super::*;

    fn notice(tenant: &str, attempt: u32, event: JobEvent) -> Notice {
        Notice {
            job: JobId::from_bits(7),
            tenant: Tenant::new(tenant).unwrap(),
            queue: Queue::default(),
            kind: Kind::new("mail").unwrap(),
            attempt,
            ended: None,
            event,
        }
    }

    fn open() -> FeedBatch {
        let batch = FeedBatch::default();
        batch.set_open(true);
        batch
    }

    fn push_many(batch: &FeedBatch, tenant: &str, event: &JobEvent) {
        for attempt in 0..10_000 {
            batch.push(&notice(tenant, attempt, event.clone()));
        }
    }

    #[test]
    fn nothing_is_kept_unless_another_node_wants_it() {
        let batch = FeedBatch::default();
        batch.push(&notice("acme", 1, JobEvent::Succeeded));
        assert!(batch.take().notices.is_empty());
        batch.set_open(true);
        batch.push(&notice("acme", 2, JobEvent::Succeeded));
        batch.set_open(false);
        assert!(batch.take().notices.is_empty());
    }

    #[test]
    fn a_flood_of_one_tenant_hides_no_event_of_others() {
        let batch = open();
        push_many(&batch, "flood", &JobEvent::Succeeded);
        for attempt in 0..3 {
            batch.push(&notice("quiet", attempt, JobEvent::Succeeded));
        }
        push_many(&batch, "flood", &JobEvent::Succeeded);
        assert!(batch.lock().bytes <= FEED_BATCH_BYTES_MAX);
        let taken = batch.take();
        let notices = taken.notices.iter().map(|json| json.decode().unwrap());
        let quiet = notices.filter(|notice: &Notice| notice.tenant.as_str() == "quiet");
        let attempts: Vec<u32> = quiet.map(|notice| notice.attempt).collect();
        assert_eq!(attempts, [0, 1, 2]);
        let all = taken.notices.len() as u64 + taken.missed;
        assert_eq!(all, 20_003);
    }

    #[test]
    fn tenants_have_equal_parts_of_a_batch() {
        let batch = open();
        push_many(&batch, "a", &JobEvent::Succeeded);
        push_many(&batch, "b", &JobEvent::Succeeded);
        let bytes_of = |name: &str| batch.lock().tenants[&Tenant::new(name).unwrap()].bytes;
        let (a, b) = (bytes_of("a"), bytes_of("b"));
        assert!(a.abs_diff(b) < 1_000, "{a} and {b}");
        // More tenants than there is room for.
        for number in 0..2_000 {
            batch.push(&notice(&format!("t{number}"), 1, JobEvent::Succeeded));
        }
        let contents = batch.lock();
        assert!(contents.bytes <= FEED_BATCH_BYTES_MAX);
        let counts = contents.tenants.values().map(|part| part.notices.len());
        assert_eq!(counts.max(), Some(1));
    }

    #[test]
    fn notices_keep_their_order_and_lose_their_stack_traces() {
        let batch = open();
        let failed = |trace: Option<String>| JobEvent::Failed {
            reason: None,
            failure: Some(Failure {
                trace,
                ..Failure::new(FailureClass::ERROR, "it broke")
            }),
        };
        batch.push(&notice("b", 1, failed(Some("x".repeat(60_000)))));
        batch.push(&notice("a", 1, JobEvent::Released));
        let notices = batch.take().notices.into_iter();
        let notices: Vec<Notice> = notices.map(|json| json.decode().unwrap()).collect();
        let expected = [
            notice("b", 1, failed(None)),
            notice("a", 1, JobEvent::Released),
        ];
        assert_eq!(notices, expected);
    }

    #[test]
    fn notices_of_logs_take_at_most_half_of_a_batch() {
        let batch = open();
        push_many(&batch, "acme", &JobEvent::Logged);
        let bytes = batch.lock().bytes;
        assert!((1..=FEED_BATCH_BYTES_MAX / 2).contains(&bytes), "{bytes}");
        batch.push(&notice("acme", 0, JobEvent::Succeeded));
        assert!(batch.lock().bytes > bytes);
        assert_eq!(batch.take().missed, 0);
    }
}
