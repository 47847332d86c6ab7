//! The log of an attempt.

use serde::{Deserialize, Serialize};
use steadfast_core::{LogLevel, LogLine, Timestamp};

/// The newest lines that an attempt logged: up to 1,000 lines or 64 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AttemptLog))]
#[non_exhaustive]
pub struct AttemptLogBody {
    /// The number of the attempt.
    pub attempt: u32,
    /// How many lines were dropped, the oldest first, because the log is full.
    pub dropped: u64,
    /// The lines, oldest first.
    pub lines: Vec<LogLineBody>,
    /// The number of the next line: read on with `from`.
    pub next: u64,
}

impl AttemptLogBody {
    /// An empty log.
    pub fn new(attempt: u32) -> Self {
        Self {
            attempt,
            ..Self::default()
        }
    }
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NumberedLogLine))]
#[non_exhaustive]
pub struct LogLineBody {
    /// The number of the line; the first one of an attempt has 0.
    pub number: u64,
    /// When it was written, by the clock of the worker.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The level.
    pub level: LogLevel,
    /// The text.
    pub text: String,
}

impl LogLineBody {
    /// A line with its number.
    pub fn new(number: u64, line: LogLine) -> Self {
        Self {
            number,
            at: line.at,
            level: line.level,
            text: line.text,
        }
    }
}

/// An event of a log that is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum LogEventBody {
    /// `log`: a line.
    Line(LogLineBody),
    /// `dropped`: lines before the next one that are gone, because the log is full.
    Dropped {
        /// How many.
        lines: u64,
    },
    /// `end`: the attempt has ended.
    End {
        /// The number of the attempt.
        attempt: u32,
        /// How many lines it has logged.
        next: u64,
    },
}

/// Which lines of a log to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct LogQuery {
    /// Only lines from this number on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Stream the lines as server-sent events until the attempt ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
}
