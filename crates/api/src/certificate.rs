//! Whether a system recovers by itself after an outage.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    CallerSettings, Certificate, CertificateName, CertificateRow, CertificateSettings,
    CertificateVerdict, Destination, Fault, FaultResult, GateId, GateLimits, GatePatch, GateScope,
    HoldMode, Invalid, MeasuredTarget, PolicyPatch, RatePatch, RetryPolicy, SystemState,
    TargetSettings, Tenant, Timestamp, duration, finite, limits,
};

use crate::duration::DurationText;
#[cfg(feature = "openapi")]
use crate::schema::{NameSchema, PolicyPatchSchema, RateSchema};

/// Settings whose behaviour after outages is computed. `capacity`, `latency` and `traffic` are
/// required unless `destination` is given and calls to it are recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CertifyPolicyRequest {
    /// The retry policy; omitted fields come from the queue, the tenant and the server.
    #[serde(skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
    /// Calls per second that the target can answer.
    #[serde(
        serialize_with = "finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.01, maximum = 100_000))]
    pub capacity: Option<f64>,
    /// Jobs per second that call the target.
    #[serde(
        serialize_with = "finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.01, maximum = 100_000))]
    pub traffic: Option<f64>,
    /// Time the target takes to answer a call while nothing waits there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<DurationText>,
    /// Timeout of a call; 30 seconds by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// Number of nodes that make the calls; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 64))]
    pub nodes: Option<u32>,
    /// Total slots of the workers or handlers that make the calls, instead of `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub slots: Option<u32>,
    /// Rate limit of the destination's gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<RateSchema>))]
    pub rate: Option<RatePatch>,
    /// Maximum number of concurrent attempts of the destination's gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_000_000))]
    pub max_running: Option<i64>,
    /// Maximum fraction of starts per minute that may be retries, of the destination's gate.
    #[serde(
        serialize_with = "finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub retry_share: Option<f64>,
    /// What to do when the destination is unhealthy; by default `auto` for nodes and `watch` for
    /// workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    /// Length of each simulated fault; 5 minutes by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<DurationText>,
    /// Destination whose gate applies, and whose recorded calls replace missing numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Queue whose policy settings apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
}

impl CertifyPolicyRequest {
    /// Whether all numbers of the target are given.
    pub fn is_complete(&self) -> bool {
        self.capacity.is_some() && self.traffic.is_some() && self.latency.is_some()
    }

    /// Refuses settings of which nothing can change by itself, or whose verdict would say nothing
    /// new: a measured capacity is never less than the traffic.
    pub fn check_kept(&self) -> Result<(), Invalid> {
        let missing = |field: &str, expected: &str| {
            let expected = format!("must be given to keep the certificate: {expected}");
            Err(Invalid::new(field, "missing", expected))
        };
        if self.destination.is_none() {
            return missing("destination", "its calls are measured every hour");
        }
        if self.capacity.is_none() {
            return missing(
                "capacity",
                "recorded calls show what the target answered, not what it can answer",
            );
        }
        Ok(())
    }

    /// The settings, over those of the destination's gate and what was measured.
    pub fn settings(
        &self,
        policy: Arc<RetryPolicy>,
        gate: &GateLimits,
        measured: Option<MeasuredTarget>,
    ) -> Result<CertificateSettings, Invalid> {
        let missing = |field: &'static str| {
            let expected = match self.destination {
                Some(_) => format!(
                    "must be given, because fewer than {} successful calls to the destination \
                     were recorded in the last day",
                    limits::MEASURED_CALLS_MIN
                ),
                None => "must be given, or a destination with recorded calls".to_owned(),
            };
            move || Invalid::new(field, "missing", expected)
        };
        let capacity = self.capacity.or(measured.map(|it| it.capacity));
        let traffic = self.traffic.or(measured.map(|it| it.traffic));
        let latency = self.latency.map(DurationText::get);
        let latency = latency.or(measured.map(|it| it.latency));
        let timeout = self.timeout.map_or(TIMEOUT_DEFAULT, DurationText::get);
        let outage = self.outage.map(DurationText::get);
        let callers = match (self.nodes, self.slots) {
            (Some(_), Some(slots)) => {
                let expected = "must be omitted if nodes is given";
                return Err(Invalid::new("slots", slots, expected));
            }
            (None, Some(slots)) => CallerSettings::Slots(slots),
            (nodes, None) => CallerSettings::Nodes(nodes.unwrap_or(1)),
        };
        Ok(CertificateSettings {
            policy,
            gate: self.gate(gate)?,
            callers,
            target: TargetSettings {
                capacity: capacity.ok_or_else(missing("capacity"))?,
                latency: latency.ok_or_else(missing("latency"))?,
                timeout,
                traffic: traffic.ok_or_else(missing("traffic"))?,
            },
            outage: outage.unwrap_or(limits::CERTIFICATE_OUTAGE_DEFAULT),
        })
    }

    /// What is given, over the limits that are set.
    fn gate(&self, set: &GateLimits) -> Result<GateLimits, Invalid> {
        let patch = GatePatch {
            rate: self.rate.map(Some),
            max_running: self.max_running.map(Some),
            retry_share: self.retry_share.map(Some),
            hold: self.hold.map(Some),
            ..GatePatch::default()
        };
        let name = self.destination.as_deref().unwrap_or(ANY_DESTINATION);
        let name = Destination::new(name)?;
        let id = GateId::new(None, GateScope::Destination, name.as_str())?;
        patch.over(&id, set, None, Timestamp::EPOCH)
    }
}

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30); // not a limit: that of HTTP jobs
/// Limits are the same for all of them.
const ANY_DESTINATION: &str = "https://target.example.com";

/// Whether a system recovers by itself after outages, computed with the given settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PolicyCertificate))]
#[non_exhaustive]
pub struct PolicyCertificateBody {
    /// The verdict.
    pub verdict: CertificateWord,
    /// The result as a sentence.
    pub summary: String,
    /// Fraction of the capacity that the jobs need if each is called once.
    pub load: f64,
    /// Highest load that was found to recover; null if none was.
    pub recovers_up_to: Option<f64>,
    /// Time from the end of the worst fault to recovery; null unless the system recovers.
    pub recovers_after_ms: Option<u64>,
    /// Length of each fault.
    pub outage_ms: u64,
    /// Time that was simulated after the end of a fault.
    pub simulated_ms: u64,
    /// The target as it was simulated.
    pub target: CertificateTargetBody,
    /// Results by fault; empty if the system is overloaded without a fault.
    pub faults: Vec<FaultBody>,
    /// The smallest helpful change that was found; null if none is needed or none was found.
    pub change: Option<CertificateChangeBody>,
    /// Load against time.
    pub picture: CertificatePictureBody,
}

/// A certificate that a node computes again every hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = KeptCertificate))]
pub struct KeptCertificateBody {
    /// Its name, unique within the tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub name: CertificateName,
    /// Tenant whose jobs are measured.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub tenant: Tenant,
    /// The settings that it is computed for.
    pub settings: CertifyPolicyRequest,
    /// The latest certificate.
    pub certificate: PolicyCertificateBody,
    /// When that was computed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub computed_at: Timestamp,
    /// When a node last began to compute it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub checked_at: Timestamp,
    /// Why it could not be computed then; null if it could.
    pub problem: Option<String>,
    /// When it was first kept.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
}

/// Kept certificates, by tenant and name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeptCertificateList {
    /// The certificates.
    pub certificates: Vec<KeptCertificateBody>,
    /// Pass as `after` to get the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The verdict of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CertificateVerdict))]
#[non_exhaustive]
pub enum CertificateWord {
    /// It recovers by itself from each fault.
    Recovers,
    /// It does not recover within the simulated time.
    StaysDown,
    /// More jobs arrive than can be done, without any fault.
    Overloaded,
}

/// The target of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CertificateTarget))]
#[non_exhaustive]
pub struct CertificateTargetBody {
    /// Calls per second that it can answer.
    pub capacity: f64,
    /// Jobs per second that call it.
    pub traffic: f64,
    /// Time it takes to answer a call.
    pub latency_ms: u64,
    /// Timeout of a call.
    pub timeout_ms: u64,
    /// Number of recorded calls behind the measured numbers; null if all were given.
    pub measured_calls: Option<u64>,
}

/// What follows from a fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FaultResult))]
#[non_exhaustive]
pub struct FaultBody {
    /// The fault.
    pub fault: Fault,
    /// Time from its end to recovery; null if the system does not recover.
    pub recovers_after_ms: Option<u64>,
    /// Attempts started since it began.
    pub attempts: u64,
    /// Jobs given up since it began.
    pub dead_letters: u64,
    /// Peak number of due jobs that waited for their start.
    pub waiting_max: u64,
}

/// A change of one setting that makes the system recover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CertificateChange))]
#[non_exhaustive]
pub struct CertificateChangeBody {
    /// The setting.
    pub setting: String,
    /// Its new value.
    pub value: String,
    /// Time from the end of the worst fault to recovery with this value.
    pub recovers_after_ms: u64,
    /// Most jobs given up because of a fault with this value.
    pub dead_letters: u64,
    /// The change as a sentence.
    pub summary: String,
}

/// Load against time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CertificatePicture))]
#[non_exhaustive]
pub struct CertificatePictureBody {
    /// Time covered by the columns.
    pub span_ms: u64,
    /// When the fault begins.
    pub fault_from_ms: u64,
    /// When the fault ends.
    pub fault_to_ms: u64,
    /// One row per load, lowest first.
    pub rows: Vec<CertificateRowBody>,
}

/// The system at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CertificateRow))]
#[non_exhaustive]
pub struct CertificateRowBody {
    /// Fraction of the capacity that the jobs need if each is called once.
    pub load: f64,
    /// Whether this is the load of the request.
    pub is_given: bool,
    /// Time from the end of the worst fault to recovery; null if the system does not recover.
    pub recovers_after_ms: Option<u64>,
    /// Worst state in each column.
    pub states: Vec<SystemState>,
}

impl PolicyCertificateBody {
    /// A certificate for a target.
    pub fn new(
        certificate: &Certificate,
        target: &TargetSettings,
        measured: Option<MeasuredTarget>,
    ) -> Self {
        let (verdict, after) = match certificate.verdict {
            CertificateVerdict::Recovers { after } => (CertificateWord::Recovers, Some(after)),
            CertificateVerdict::Overloaded { .. } => (CertificateWord::Overloaded, None),
            _ => (CertificateWord::StaysDown, None),
        };
        let picture = &certificate.picture;
        Self {
            verdict,
            summary: certificate.to_string(),
            load: certificate.load,
            recovers_up_to: certificate.recovers_up_to,
            recovers_after_ms: after.map(duration::millis),
            outage_ms: duration::millis(certificate.outage),
            simulated_ms: duration::millis(certificate.played),
            target: CertificateTargetBody {
                capacity: target.capacity,
                traffic: target.traffic,
                latency_ms: duration::millis(target.latency),
                timeout_ms: duration::millis(target.timeout),
                measured_calls: measured.map(|it| it.calls),
            },
            faults: certificate.faults.iter().map(Into::into).collect(),
            change: certificate
                .change
                .as_ref()
                .map(|change| CertificateChangeBody {
                    setting: change.setting.to_owned(),
                    value: change.value.clone(),
                    recovers_after_ms: duration::millis(change.recovers_after),
                    dead_letters: change.dead_letters,
                    summary: change.to_string(),
                }),
            picture: CertificatePictureBody {
                span_ms: duration::millis(picture.span),
                fault_from_ms: duration::millis(picture.fault.0),
                fault_to_ms: duration::millis(picture.fault.1),
                rows: picture.rows.iter().map(Into::into).collect(),
            },
        }
    }
}

impl From<&FaultResult> for FaultBody {
    fn from(result: &FaultResult) -> Self {
        Self {
            fault: result.fault,
            recovers_after_ms: result.recovers_after.map(duration::millis),
            attempts: result.attempts,
            dead_letters: result.dead_letters,
            waiting_max: result.waiting_max,
        }
    }
}

impl From<&CertificateRow> for CertificateRowBody {
    fn from(row: &CertificateRow) -> Self {
        Self {
            load: row.load,
            is_given: row.is_given,
            recovers_after_ms: row.recovers_after.map(duration::millis),
            states: row.states.clone(),
        }
    }
}
