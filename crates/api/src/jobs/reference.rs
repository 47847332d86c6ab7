//! Jobs that other jobs run after.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use steadfast_core::{Invalid, JobId};

const PREFIX: &str = "ref:";

/// A job that another one runs after: an existing job, or an earlier one of the same list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobReference {
    /// A job that exists.
    Id(JobId),
    /// The `ref` of an earlier job of the list.
    Name(String),
}

impl From<JobId> for JobReference {
    fn from(id: JobId) -> Self {
        Self::Id(id)
    }
}

impl fmt::Display for JobReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => write!(f, "{PREFIX}{name}"),
        }
    }
}

impl FromStr for JobReference {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.strip_prefix(PREFIX) {
            Some(name) => Ok(Self::Name(name.to_owned())),
            None => text.parse().map(Self::Id),
        }
    }
}

impl Serialize for JobReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JobReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
