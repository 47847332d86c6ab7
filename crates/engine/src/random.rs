//! The engine's random numbers: from entropy in production, from a seed in tests.

use std::sync::{Mutex, PoisonError};

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use steadfast_core::{AuditId, BatchId, Dice, JobId, OperationId, ScheduleId, Timestamp};

pub struct Random(Mutex<SmallRng>);

impl Random {
    pub fn from_entropy() -> Self {
        Self(Mutex::new(rand::make_rng()))
    }

    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(SmallRng::seed_from_u64(seed)))
    }

    fn next(&self) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .random()
    }

    pub fn dice(&self) -> Dice {
        Dice::new(self.next())
    }

    pub fn job_id(&self, now: Timestamp) -> JobId {
        JobId::new(now, self.next())
    }

    pub fn schedule_id(&self, now: Timestamp) -> ScheduleId {
        ScheduleId::new(now, self.next())
    }

    pub fn operation_id(&self, now: Timestamp) -> OperationId {
        OperationId::new(now, self.next())
    }

    pub fn batch_id(&self, now: Timestamp) -> BatchId {
        BatchId::new(now, self.next())
    }

    pub fn audit_id(&self, now: Timestamp) -> AuditId {
        AuditId::new(now, self.next())
    }

    pub fn suffix(&self) -> u32 {
        (self.next() >> 32) as u32
    }
}
