//! The response to a request that creates jobs.

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use crate::{
    jobs::job::{JobBody, JobList},
    schedule::ScheduleBody,
};

/// The response of `POST /jobs`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum CreateResult {
    /// The job.
    Job(Box<JobBody>),
    /// The schedule of a recurring job.
    Schedule(Box<ScheduleBody>),
    /// The created jobs, in the order of the request, without their payloads.
    Jobs(JobList),
}

/// A field that only one of them has decides which it is. serde's own way would copy the JSON into a
/// form in which payloads cannot be read.
impl<'de> Deserialize<'de> for CreateResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            jobs: Option<de::IgnoredAny>,
            upcoming: Option<de::IgnoredAny>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let shape: Shape = serde_json::from_str(text).map_err(de::Error::custom)?;
        match (shape.jobs, shape.upcoming) {
            (Some(_), _) => serde_json::from_str(text).map(Self::Jobs),
            (None, Some(_)) => serde_json::from_str(text).map(Self::Schedule),
            (None, None) => serde_json::from_str(text).map(Self::Job),
        }
        .map_err(de::Error::custom)
    }
}
