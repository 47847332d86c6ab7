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
//! # Layout
//!
//! * `jobs`: jobs and their attempts, batches, and work on many jobs at once. `schedule`: jobs that
//!   are created by a timetable. `work`: what workers send and receive.
//! * `flow`: queues, gates, destinations and forecasts. `failure`: failures by cause. `policy`: what
//!   a policy does, or would have done. `certificate`: what an outage would lead to.
//! * `endpoint` and `webhook`: where events are delivered, and what is sent.
//! * `server`: keys, secrets, nodes, workers, and the clock of a test server.
//! * `query`: query strings that several requests share. `problem`: how a request is refused.
//!
//! # Features
//!
//! * `openapi`: every type has a `utoipa` schema. The server switches it on, clients need not.
#![deny(missing_docs)]

mod certificate;
mod duration;
mod endpoint;
mod failure;
mod flow;
mod jobs;
mod policy;
mod problem;
mod query;
mod schedule;
#[cfg(feature = "openapi")]
pub mod schema;
mod server;
mod webhook;
mod work;

pub use certificate::{
    CertificateChangeBody, CertificatePictureBody, CertificateRowBody, CertificateTargetBody,
    CertificateWord, CertifyPolicyRequest, FaultBody, KeptCertificateBody, KeptCertificateList,
    PolicyCertificateBody,
};
pub use duration::DurationText;
pub use endpoint::{
    CreateEndpointRequest, EditEndpointRequest, EndpointBody, EndpointHeaderBody, EndpointList,
    EndpointWithSecret, RotateSecretRequest,
};
pub use failure::{
    FailureExampleBody, FailureGroupBody, FailureList, FailureQuery, MarkFailureRequest,
};
pub use flow::destination::{
    DestinationBody, DestinationList, DestinationMinute, DestinationQuery, DestinationSettings,
    HoldDestinationRequest, IncidentBody, ManualHoldBody, QuotaBody, SetDestinationRequest,
    SharedRetryAfterBody,
};
pub use flow::forecast::{
    DestinationForecastBody, ForecastBody, ForecastQuery, ForecastSeries, QueueForecastBody,
};
pub use flow::gate::{GateBody, GateList, GateScope, SetGateRequest};
pub use flow::pace::{LearnedPaceBody, PaceChangeBody, PaceMinuteBody};
pub use flow::queue::{
    CountsBody, LaneBody, MinuteBody, MinuteList, PauseQueueRequest, QueueBody, QueueList,
    StatsBody, TallyBody,
};
pub use jobs::attempt::{AttemptBody, AttemptList, DecisionBody};
pub use jobs::batch::{
    BatchBody, BatchCallbackBody, BatchJobQuery, BatchList, BatchQuery, CreateBatchRequest,
};
pub use jobs::bulk::{BulkResult, DeadLettersRequest};
pub use jobs::cloud_event::CloudEventBody;
pub use jobs::create::{
    CreateJobRequest, CreateJobsRequest, CreateRequest, EditJobRequest, HttpTargetRequest,
    RetryJobRequest, WebhookRequest,
};
pub use jobs::create_result::CreateResult;
pub use jobs::event::JobEventBody;
pub use jobs::job::{
    HttpTargetBody, JobBody, JobList, PolicyBody, PrerequisiteBody, WebhookTargetBody,
};
pub use jobs::log::{AttemptLogBody, LogEventBody, LogLineBody, LogQuery};
pub use jobs::operation::{
    AGENT_HEADER, ActorBody, AuditBody, AuditList, AuditQuery, CreateOperationRequest,
    KeyRotationBody, OperationBody, OperationJobBody, OperationJobList, OperationJobQuery,
    OperationList, OperationQuery, OutcomesBody,
};
pub use jobs::reference::JobReference;
pub use policy::{
    DelayRangeBody, PolicyPreviewAttempt, PolicyPreviewBody, PolicyReplayBody,
    PreviewPolicyRequest, ReplayMetricsBody, ReplayPolicyRequest,
};
pub use problem::ProblemBody;
pub use query::{
    CloudEventQuery, JobQuery, MinutesQuery, PageQuery, ScheduleQuery, TenantPageQuery,
    TenantQuery, WaitQuery,
};
pub use schedule::{
    CreateScheduleRequest, EditScheduleRequest, ScheduleBody, ScheduleList, SkippedTicksBody,
    TickBody, TickList, UpcomingTickBody,
};
pub use server::key::{CreateKeyRequest, KeyBody, KeyList, KeyWithToken, Scope};
pub use server::node::{
    AcknowledgeAlertsRequest, AlertList, NodeBody, NodeList, SilenceAlertsRequest, WorkerBody,
    WorkerList,
};
pub use server::secret::{SecretBody, SecretList, SetSecretRequest};
pub use server::testing::{AdvanceClockRequest, ClockBody, IdleBody, RunUntilIdleRequest};
pub use steadfast_core::{BatchJobFilter, BatchStatus, OperationKind, OperationStatus};
pub use steadfast_core::{Blocker, QueueExplanation, StartExplanation};
pub use steadfast_core::{HeaderSource, SecretName, SecretReference};
pub use webhook::{WebhookEventBody, webhook_job};
pub use work::claim::{ClaimBody, ClaimJobsRequest, ClaimList, ClaimSession, WorkerInfo};
pub use work::handler::{
    FenceQuery, PrerequisiteList, PrerequisiteQuery, PrerequisiteResult, SaveStepRequest, StepBody,
};
pub use work::heartbeat::{
    HeartbeatEntry, HeartbeatList, HeartbeatRequest, HeartbeatResult, HeartbeatsRequest, LeaseBody,
};
pub use work::settlement::{
    FailRequest, FailureRequest, ReleaseRequest, SettleRequest, SettlementList, SettlementOutcome,
    SettlementRequest, SettlementResult, SnoozeRequest, SucceedRequest,
};
