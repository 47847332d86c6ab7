//! The `Upstash-…` headers of a request.

use std::{collections::BTreeMap, time::Duration};

use axum::http::HeaderMap;
use steadfast_core::{
    PolicyPatch, Preset, RetryRule, RuleAction, StatusRange,
    limits::{DAY, MAX_RETRIES},
};
use steadfast_engine::http::qstash::{QstashCallback, QstashFlowControl};

use super::text;
use crate::{http::Problem, limits};

/// The status by which a receiver says that no retry will help.
const NOT_RETRYABLE: u16 = 489; // not a limit: a status of QStash
const STATUSES: (u16, u16) = (100, 599); // not a limit: all statuses of HTTP

/// What the headers of a request ask for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub method: Option<String>,
    /// Headers of the message, by lower-case name.
    pub headers: BTreeMap<String, String>,
    pub delay: Option<Duration>,
    /// In seconds since 1970.
    pub not_before: Option<i64>,
    pub retries: Option<u32>,
    pub retry_delay: Option<String>,
    pub timeout: Option<Duration>,
    pub callback: Option<QstashCallback>,
    pub failure_callback: Option<QstashCallback>,
    pub deduplication_id: Option<String>,
    pub content_based_deduplication: bool,
    pub flow_control: Option<QstashFlowControl>,
    pub labels: Vec<String>,
    pub cron: Option<String>,
    pub schedule_id: Option<String>,
    pub queue: Option<String>,
}

/// Headers that tell of the sender, and change nothing.
const IGNORED: [&str; 2] = ["upstash-telemetry-", "upstash-region"];

impl Options {
    // long: a table
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut options = Self::default();
        let mut callback = CallbackOptions::default();
        let mut failure_callback = CallbackOptions::default();
        let (mut flow_key, mut flow_value) = (None, None);
        for (name, value) in headers {
            let name = name.as_str();
            let value = || {
                let text = value.to_str().ok().map(str::to_owned);
                text.ok_or_else(|| Problem::invalid(name, format!("{name} must be ASCII")))
            };
            if name == "content-type" {
                let given = options.headers.entry(name.to_owned());
                given.or_insert(value()?);
            } else if let Some(own) = name.strip_prefix("upstash-forward-") {
                options.headers.insert(own.to_owned(), value()?);
            } else if let Some(own) = name.strip_prefix("upstash-failure-callback") {
                failure_callback.set(own, value()?)?;
            } else if let Some(own) = name.strip_prefix("upstash-callback") {
                callback.set(own, value()?)?;
            } else if name.starts_with("upstash-")
                && !IGNORED.iter().any(|prefix| name.starts_with(prefix))
            {
                let value = value()?;
                match name {
                    "upstash-method" => options.method = Some(value),
                    "upstash-delay" => options.delay = Some(text::duration(name, &value)?),
                    "upstash-not-before" => options.not_before = Some(number(name, &value)?),
                    "upstash-retries" => options.retries = Some(number(name, &value)?),
                    "upstash-retry-delay" => options.retry_delay = Some(value),
                    "upstash-timeout" => options.timeout = Some(text::duration(name, &value)?),
                    "upstash-deduplication-id" => options.deduplication_id = Some(value),
                    "upstash-content-based-deduplication" => {
                        options.content_based_deduplication = value.eq_ignore_ascii_case("true");
                    }
                    "upstash-flow-control-key" => flow_key = Some(value),
                    "upstash-flow-control-value" => flow_value = Some(value),
                    "upstash-label" => options.labels = labels(&value)?,
                    "upstash-cron" => options.cron = Some(value),
                    "upstash-schedule-id" => options.schedule_id = Some(value),
                    "upstash-queue-name" => options.queue = Some(value),
                    _ => {
                        let detail = format!("{name} is not supported (docs/qstash.md)");
                        return Err(Problem::invalid(name, detail));
                    }
                }
            }
        }
        options.callback = callback.build("Upstash-Callback")?;
        options.failure_callback = failure_callback.build("Upstash-Failure-Callback")?;
        options.flow_control = match (flow_key, flow_value) {
            (Some(key), value) => Some(flow_control(key, value.as_deref().unwrap_or_default())?),
            (None, Some(_)) => {
                let detail = "Upstash-Flow-Control-Value requires Upstash-Flow-Control-Key";
                return Err(Problem::invalid("Upstash-Flow-Control-Key", detail));
            }
            (None, None) => None,
        };
        Ok(options)
    }

    pub fn policy(&self) -> Result<PolicyPatch, Problem> {
        policy(self.retries, self.retry_delay.as_deref())
    }
}

/// Refuses headers that make no sense where they were sent.
pub fn refuse(given: &[(&str, bool)], place: &str) -> Result<(), Problem> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => {
            let detail = format!("{name} is not supported {place}");
            Err(Problem::invalid(name, detail))
        }
        None => Ok(()),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Problem> {
    value.trim().parse().map_err(|_| {
        let detail = format!("{name} is {value:?}: must be a whole number that is not negative");
        Problem::invalid(name, detail)
    })
}

fn labels(value: &str) -> Result<Vec<String>, Problem> {
    let labels = value.split(',').map(str::trim).filter(|it| !it.is_empty());
    let labels: Vec<String> = labels.map(str::to_owned).collect();
    let most = limits::QSTASH_LABELS_MAX;
    if labels.len() > most {
        let detail = format!("Upstash-Label has {} labels: at most {most}", labels.len());
        return Err(Problem::invalid("Upstash-Label", detail));
    }
    Ok(labels)
}

/// `parallelism=3, rate=4, period=2s`.
fn flow_control(key: String, value: &str) -> Result<QstashFlowControl, Problem> {
    let name = "Upstash-Flow-Control-Value";
    let mut flow = QstashFlowControl {
        key,
        period: 1,
        ..QstashFlowControl::default()
    };
    for part in value.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let (field, value) = part.split_once('=').unwrap_or((part, ""));
        match field.trim() {
            "parallelism" => flow.parallelism = Some(number(name, value)?),
            "rate" => flow.rate = Some(number(name, value)?),
            "period" => flow.period = text::duration(name, value)?.as_secs(),
            other => {
                let detail = format!("{name} has {other:?}: must be parallelism, rate or period");
                return Err(Problem::invalid(name, detail));
            }
        }
    }
    Ok(flow)
}

/// The policy of a message: all statuses are retried but one, after the delays that QStash has.
fn policy(retries: Option<u32>, formula: Option<&str>) -> Result<PolicyPatch, Problem> {
    let retries = retries.unwrap_or(limits::QSTASH_RETRIES_DEFAULT);
    let most = retries.clamp(1, MAX_RETRIES);
    let delays = match formula {
        Some(formula) => (0..most)
            .map(|retried| text::retry_delay(formula, retried))
            .collect::<Result<Vec<_>, _>>()?,
        None => (1..=most)
            .map(|retry| {
                Duration::from_secs_f64((2.5 * f64::from(retry)).exp().min(DAY.as_secs_f64()))
            })
            .collect(),
    };
    let status = |first, last, then| {
        let range = StatusRange::new(first, last);
        range.map(|range| RetryRule::on_status(range, then))
    };
    let rules = vec![
        status(NOT_RETRYABLE, NOT_RETRYABLE, RuleAction::Fail)?,
        status(STATUSES.0, STATUSES.1, RuleAction::Retry)?,
    ];
    Ok(PolicyPatch::preset(Preset::Webhook)
        .max_retries(retries)
        .delays(delays)
        .rules(rules))
}

/// The headers of a callback, before it is known whether there is one.
#[derive(Default)]
struct CallbackOptions {
    callback: QstashCallback,
    retries: Option<u32>,
    retry_delay: Option<String>,
}

impl CallbackOptions {
    /// `own` is what follows `upstash-callback`: nothing, or a dash and a name.
    fn set(&mut self, own: &str, value: String) -> Result<(), Problem> {
        let name = own.strip_prefix('-').unwrap_or(own);
        match name {
            "" => self.callback.url = value,
            "method" => self.callback.method = Some(value),
            "timeout" => self.callback.timeout = Some(text::duration(name, &value)?),
            "delay" => self.callback.delay = Some(text::duration(name, &value)?),
            "retries" => self.retries = Some(number(name, &value)?),
            "retry-delay" => self.retry_delay = Some(value),
            _ => {
                let name = name.strip_prefix("forward-").unwrap_or(name);
                self.callback.headers.insert(name.to_owned(), value);
            }
        }
        Ok(())
    }

    fn build(mut self, field: &str) -> Result<Option<QstashCallback>, Problem> {
        if self.callback.url.is_empty() {
            return match self.callback == QstashCallback::default() {
                true => Ok(None),
                false => Err(Problem::invalid(field, format!("{field} is missing"))),
            };
        }
        let checked = steadfast_engine::http::HttpRequest::new(&self.callback.url);
        let mut request = checked.map_err(|error| Problem::invalid(field, error.to_string()))?;
        if let Some(method) = &self.callback.method {
            request = request.with_method(method)?;
        }
        for (name, value) in &self.callback.headers {
            request = request.with_header(name, value)?;
        }
        self.callback.retry = policy(self.retries, self.retry_delay.as_deref())?;
        Ok(Some(self.callback))
    }
}
