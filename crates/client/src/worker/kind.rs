//! The input of a job.

use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::{CreateJobRequest, JobBody};
use steadfast_core::{Invalid, Payload};

use crate::{backoff::random_key, client::Client, request::Request, traces::current_traceparent};

/// The input of a handler, and the name that joins the two.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use steadfast_client::JobKind;
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl JobKind for Welcome {
///     const KIND: &'static str = "welcome";
/// }
/// ```
pub trait JobKind: Serialize + DeserializeOwned + Send + 'static {
    /// The name that stored jobs carry. Do not change it while jobs wait.
    const KIND: &'static str;

    /// The defaults of all jobs of this kind: queue, retry policy, timeout.
    fn options() -> CreateJobRequest {
        CreateJobRequest::default()
    }

    /// A request for a job with this input, to be refined before it is sent.
    ///
    /// # Errors
    ///
    /// An input that has no JSON, or too much of it.
    fn job(&self) -> Result<CreateJobRequest, Invalid> {
        Ok(CreateJobRequest {
            kind: Some(Self::KIND.to_owned()),
            payload: Some(Payload::encode(self)?),
            ..Self::options()
        })
    }
}

impl Client {
    /// Creates a job with this input. When the response is there, the job is durable. It gets an
    /// idempotency key unless it has one, and the request is repeated if the server is away for a
    /// moment.
    pub fn enqueue(&self, input: &impl JobKind) -> Request<JobBody> {
        match input.job() {
            Ok(request) => self.enqueue_request(request),
            Err(invalid) => self.post("createJob", "/jobs").fail_to_encode(invalid),
        }
    }

    /// The same for a request that was refined: [`JobKind::job`] makes one of an input.
    pub fn enqueue_request(&self, mut job: CreateJobRequest) -> Request<JobBody> {
        job.idempotency_key.get_or_insert_with(random_key);
        job.traceparent = job.traceparent.or_else(current_traceparent);
        self.create_job(&job).repeatable()
    }
}
