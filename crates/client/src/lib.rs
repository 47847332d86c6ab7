//! A client for Steadfast servers: typed calls over HTTP.
//!
//! ```no_run
//! use steadfast_client::{Client, api::CreateJobRequest};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("http://127.0.0.1:7373")
//!     .api_key(std::env::var("STEADFAST_API_KEY")?)
//!     .build()?;
//! let job = client
//!     .create_job(&CreateJobRequest {
//!         api: Some("https://example.com/hook".to_owned()),
//!         max_retries: Some(5),
//!         idempotency_key: Some("order-7".to_owned()),
//!         ..CreateJobRequest::default()
//!     })
//!     .await?;
//! println!("{} is {}", job.id, job.label);
//!
//! for attempt in client.list_attempts(job.id, &Default::default()).await?.attempts {
//!     println!("{}: {}", attempt.attempt, attempt.explanation.unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Every operation of the API is a method of [`Client`] that returns a [`Request`]. Awaiting the
//! request sends it and gives the response as a type of [`api`]; [`Request::send`] also gives the
//! status and the JSON as it came. A [`ClientError`] names the operation, carries the server's
//! problem code and field, and says whether the same request may work later.
//!
//! [`Client::worker`] runs typed handlers in this process, for jobs of that server: see
//! [`WorkerBuilder`]. They look like those of the embedding crate, `steadfast`.
//!
//! # Layout
//!
//! * `client`: the client and its settings. `request`: one call. `error`: how a call fails.
//! * `traces`: spans of OpenTelemetry (feature `opentelemetry`).
//! * `jobs`, `schedules`, `queues`, `endpoints`, `claims`: the operations, by what they are about.
//! * `worker`: typed handlers, and the worker that claims their jobs.
//! * `events`: events as they happen. `transport`: connections and TLS. `limits`: timeouts.
#![deny(missing_docs)]

mod backoff;
mod batches;
mod claims;
mod client;
mod destinations;
mod endpoints;
mod error;
mod events;
mod failures;
mod gates;
mod jobs;
mod limits;
mod operations;
mod queues;
mod request;
mod schedules;
mod traces;
mod transport;
mod worker;

pub use client::{Client, ClientBuilder};
pub use error::{BuildError, ClientError, ErrorKind, TlsProblem};
pub use events::{Event, EventStream};
pub use queues::HealthBody;
pub use request::{Request, Response};
pub use steadfast_core::{Confirmation, LogLevel};
pub use worker::{Context, JobError, JobKind, StopReason, Worker, WorkerBuilder, WorkerError};

#[cfg(feature = "log-layer")]
pub use steadfast_tracing::AttemptLogLayer;

/// The types of requests and responses.
pub use steadfast_api as api;

/// The code of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
