//! Requests and responses of Steadfast's HTTP API, as types.
//!
//! The JSON of the API is described here and nowhere else: the server answers with these types,
//! webhooks carry them, and clients read them. Values are checked by the constructors of
//! [`steadfast_core`]; these types only say how they are written.
//!
//! Types of request bodies end in `Request`, those of query strings in `Query`, those of responses
//! in `Body`, `List` or `Result`.
//! Requests are built with `..Default::default()`, so a new optional field does not break a caller.
//! Responses ignore fields that they do not know, so an old client can read a newer server. Those
//! that this crate builds are `#[non_exhaustive]`; those that the server builds from types of other
//! crates are not, because it must set every field.
//!
//! # Features
//!
//! * `openapi`: every type has a `utoipa` schema. The server switches it on, clients need not.
#![deny(missing_docs)]

mod attempt;
mod batch;
mod bulk;
mod claim;
mod create;
mod destination;
mod duration;
mod edit;
mod endpoint;
mod event;
mod failure;
mod forecast;
mod gate;
mod job;
mod key;
mod node;
mod operation;
mod policy;
mod problem;
mod query;
mod queue;
mod schedule;
#[cfg(feature = "openapi")]
pub mod schema;
mod testing;
mod webhook;

pub use attempt::{AttemptBody, AttemptList, DecisionBody};
pub use batch::{
    BatchBody, BatchCallbackBody, BatchJobQuery, BatchList, BatchQuery, CreateBatchRequest,
};
pub use bulk::{BulkResult, DeadLettersRequest};
pub use claim::{
    ClaimBody, ClaimJobsRequest, ClaimList, FailRequest, FailureRequest, FenceQuery,
    HeartbeatEntry, HeartbeatList, HeartbeatRequest, HeartbeatResult, HeartbeatsRequest, LeaseBody,
    ReleaseRequest, SaveStepRequest, SettleRequest, SettlementList, SettlementOutcome,
    SettlementRequest, SettlementResult, SnoozeRequest, StepBody, SucceedRequest, WorkerInfo,
};
pub use create::{
    CreateJobRequest, CreateJobsRequest, CreateRequest, CreateResult, EditJobRequest,
    HttpTargetRequest, RetryJobRequest, WebhookRequest,
};
pub use destination::{
    DestinationBody, DestinationList, DestinationMinute, DestinationQuery, DestinationSettings,
    HandHoldBody, HoldDestinationRequest, IncidentBody, SetDestinationRequest,
    SharedRetryAfterBody,
};
pub use duration::DurationText;
pub use endpoint::{
    CreateEndpointRequest, EditEndpointRequest, EndpointBody, EndpointList, EndpointWithSecret,
    RotateSecretRequest,
};
pub use event::JobEventBody;
pub use failure::{
    FailureExampleBody, FailureGroupBody, FailureList, FailureQuery, MarkFailureRequest,
};
pub use forecast::{
    DestinationForecastBody, ForecastBody, ForecastQuery, ForecastSeries, QueueForecastBody,
};
pub use gate::{GateBody, GateList, GateScope, SetGateRequest};
pub use job::{HttpTargetBody, JobBody, JobList, PolicyBody, PrerequisiteBody, WebhookTargetBody};
pub use key::{CreateKeyRequest, KeyBody, KeyList, KeyWithToken, Scope};
pub use node::{AlertList, NodeBody, NodeList, WorkerBody, WorkerList};
pub use operation::{
    ActorBody, AuditBody, AuditList, AuditQuery, CreateOperationRequest, OperationBody,
    OperationJobBody, OperationJobList, OperationJobQuery, OperationList, OperationQuery,
    OutcomesBody,
};
pub use policy::{
    DelayRangeBody, PolicyPreviewAttempt, PolicyPreviewBody, PolicyReplayBody,
    PreviewPolicyRequest, ReplayFiguresBody, ReplayPolicyRequest,
};
pub use problem::ProblemBody;
pub use query::{
    JobQuery, MinutesQuery, PageQuery, ScheduleQuery, TenantPageQuery, TenantQuery, WaitQuery,
};
pub use queue::{
    CountsBody, LaneBody, MinuteBody, MinuteList, PauseQueueRequest, QueueBody, QueueList,
    StatsBody, TallyBody,
};
pub use schedule::{
    CreateScheduleRequest, EditScheduleRequest, ScheduleBody, ScheduleList, SkippedTicksBody,
    TickBody, TickList, UpcomingTickBody,
};
pub use steadfast_core::{BatchJobFilter, BatchStatus, OperationKind, OperationStatus};
pub use steadfast_core::{Blocker, QueueExplanation, StartExplanation};
pub use testing::{AdvanceClockRequest, ClockBody, IdleBody, RunUntilIdleRequest};
pub use webhook::{WebhookEventBody, webhook_job};
