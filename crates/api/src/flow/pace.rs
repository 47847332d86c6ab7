//! Learned paces: how many calls at once a destination was found to take.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    LearnedPace, PaceMinute, PaceReason, Tenant, Timestamp,
    explain::{brief, count_of},
};

/// The learned number of calls at once to a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LearnedPace))]
pub struct LearnedPaceBody {
    /// The tenant whose calls it was learned from and limits; null if it is for all tenants.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Number of calls that may run at once now.
    pub calls_at_once: u32,
    /// Whether this is what the destination takes, because more calls at once were refused or slower.
    /// If false, more are still tried.
    pub found: bool,
    /// The same as a sentence, with the last change.
    pub sentence: String,
    /// The last change, if there was one.
    #[serde(default)]
    pub last_change: Option<PaceChangeBody>,
    /// The last minutes in which calls ended, oldest first, up to an hour. Not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<PaceMinuteBody>,
}

/// A change of a learned pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PaceChange))]
pub struct PaceChangeBody {
    /// When it changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Calls at once before.
    pub from: u32,
    /// Calls at once afterwards, within a second if it grows.
    pub to: u32,
    /// Why it changed.
    pub reason: PaceReason,
}

/// A learned pace within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PaceMinute))]
pub struct PaceMinuteBody {
    /// Start of the minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The fewest calls at once that were allowed.
    pub least: u32,
    /// The most calls at once that were allowed.
    pub most: u32,
    /// Calls that ended.
    pub calls: u32,
    /// Calls that were refused with status 429 or 503.
    pub refused: u32,
    /// Why it changed, if it did; a reason that lowered it comes before others.
    #[serde(default)]
    pub reason: Option<PaceReason>,
}

impl LearnedPaceBody {
    /// A reader of one tenant does not see how much all tenants call.
    pub(super) fn new(
        tenant: Option<&Tenant>,
        pace: &LearnedPace,
        reader: Option<&Tenant>,
        now: Timestamp,
    ) -> Self {
        let calls_at_once = pace.limit().at(now);
        let last_change = pace.last_move().map(|last| PaceChangeBody {
            at: last.at,
            from: last.from,
            to: last.to,
            reason: last.reason,
        });
        let found = pace.is_found();
        Self {
            tenant: tenant.map(Tenant::to_string),
            sentence: describe(calls_at_once, found, last_change, now),
            calls_at_once,
            found,
            last_change,
            minutes: match reader.is_none() || tenant == reader {
                true => pace.minutes().map(PaceMinuteBody::from).collect(),
                false => Vec::new(),
            },
        }
    }
}

impl From<PaceMinute> for PaceMinuteBody {
    fn from(minute: PaceMinute) -> Self {
        Self {
            at: minute.at,
            least: minute.least,
            most: minute.most,
            calls: minute.ended,
            refused: minute.refused,
            reason: minute.reason,
        }
    }
}

/// `12 calls at once, as it was found to take; 10 until 5s ago: more calls at once are tried`.
fn describe(
    calls_at_once: u32,
    found: bool,
    last: Option<PaceChangeBody>,
    now: Timestamp,
) -> String {
    let calls = count_of(calls_at_once.into(), "call", "calls");
    let known = match found {
        true => "were found to be what it takes",
        false => "are allowed while its pace is learned",
    };
    let last = last.map_or(String::new(), |last| {
        let ago = brief(now.since(last.at));
        let PaceChangeBody { from, reason, .. } = last;
        format!("; {from} until {ago} ago: {}", reason.describe())
    });
    format!("{calls} at once {known}{last}")
}
