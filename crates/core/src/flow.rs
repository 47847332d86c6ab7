//! Flow control: what may start now, and who is next.
//!
//! Everything here is arithmetic on values. Stores hold the states, and ask within a claim; people
//! receive the same answers, from the same functions.
//!
//! * `flow_key`: the fields of a job that gates read.
//! * `gate`: what a person sets; `patch`: how it is written. `gates`: which of them apply to a job.
//! * `health`: whether a destination can be called now.
//! * `pace`: how many calls at once a destination was found to take.
//! * `quota`: what an answer says remains of the limits of its target; `shared_quota`: what that means
//!   for all callers.
//! * `room`: how many jobs a gate lets start now, or when it opens.
//! * `usage`: rates in units, and what was used.
//! * `stop`: gates that let no job start, however few run.
//! * `fair`: which tenant is next.
//! * `slots`: how many calls a node makes to one destination at a time.
//! * `waiting`: how many jobs may wait.
//! * `blockers`: why a job has not started, for people.

mod blockers;
mod checks;
mod describe;
mod fair;
mod flow_key;
mod gate;
mod gate_state;
mod gates;
mod health;
mod hold;
mod pace;
mod patch;
mod quota;
mod rate;
mod room;
mod shared_quota;
mod slots;
mod stop;
mod usage;
mod waiting;

pub use blockers::{
    Blocker, BlockerKind, GateHolder, GateSnapshot, JobSnapshot, PlaceSnapshot, QueueExplanation,
    QueueFacts, StartEstimate, StartExplanation, StartFacts, WorkerSnapshot,
};
pub use fair::{Share, Weight};
pub use flow_key::FlowKey;
pub use gate::{Gate, GateId, GateLimits, GateScope, RetryShare};
pub use gate_state::{ClosedBy, GateState};
pub use gates::{AppliedGate, GateDefaults, GateNumber, Gates, GatesChange};
pub use health::{
    DestinationHealth, DestinationLimit, HealthChange, HealthEvent, HealthInput, HealthPatch,
    HealthReport, HealthRules, HealthStatus, HealthSubject, HealthTally, HoldCommand, Incident,
    IncidentCause, ManualHold, OutcomeCounts, SharedRetryAfter,
};
pub use hold::{HoldMode, Pause, RetryAfterScope};
pub use pace::{LearnedPace, PaceLimit, PaceMinute, PaceMode, PaceMove, PaceReason};
pub use patch::{GatePatch, PausePatch, RatePatch, UnitRatePatch};
pub use quota::{LimitHeader, RequestedWait, TargetQuota};
pub use rate::Rate;
pub use room::Room;
pub use shared_quota::SharedQuota;
pub use slots::{
    CallOwner, CallWindow, call_allowance, tenant_call_allowance, tenant_webhook_allowance,
    webhook_slots,
};
pub use stop::GateStop;
pub use usage::{UnitRate, Usage, UsageWait};
pub use waiting::{WaitingRefusal, WaitingRequest};
