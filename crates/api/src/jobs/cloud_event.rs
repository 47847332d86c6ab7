//! Events of other systems, as CloudEvents 1.0.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event in structured mode. Other fields are extension attributes, which become tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CloudEvent))]
pub struct CloudEventBody {
    /// Version of the specification: `1.0`.
    pub specversion: String,
    /// Id of the event, unique for its source.
    pub id: String,
    /// URI of the sender. Together with the id it is the idempotency key of the job.
    pub source: String,
    /// Type of the event: the kind of the job, unless the query string names one.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// When it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Media type of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacontenttype: Option<String>,
    /// The payload of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Queue of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}
