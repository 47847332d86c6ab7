//! How a job asks whether an attempt took effect, before it is repeated.
//!
//! An HTTP job asks with a GET, whose response is compared with two patterns. A job of a handler or
//! worker asks the handler's own `confirm` function, so that there is nothing to set but the
//! failures that open a question.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    job::Job,
    limits,
    policy::{OneOrMany, RuleMatch, StatusRange, glob},
    secret::HeaderSource,
    state::JobState,
    values::{IdempotencyKey, Invalid, JobId, Kind, Payload, duration, string_enum},
};

string_enum! {
    /// The answer to the question whether an attempt took effect.
    // Exhaustive on purpose: the decision must handle each.
    ConfirmAnswer, "answer" {
        /// It took effect: the job succeeds.
        Done = "done",
        /// It did not: the policy decides about a retry.
        NotDone = "not_done",
        /// It is not known yet: the question is repeated.
        Unknown = "unknown",
    }
}

/// How a job asks whether an attempt took effect.
///
/// ```
/// use steadfast_core::ConfirmSettings;
///
/// let confirm = r#"{"url": "https://api.example.com/orders/{jobId}", "timeout": "5s"}"#;
/// let confirm: ConfirmSettings = serde_json::from_str(confirm).unwrap();
/// assert!(confirm.headers.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfirmSettings {
    /// The address that an HTTP job asks with a GET; `{jobId}` and `{idempotencyKey}` stand for
    /// those of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of that request, with the same placeholders.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderSource>,
    /// How long an answer may take; as long as an attempt by default, and never longer.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// The responses that mean `done`; those with status 2xx by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<AnswerPattern>,
    /// The responses that mean `not_done`, compared first; those with status 404 or 410 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_done: Option<AnswerPattern>,
    /// Further failures that open a question, such as status 504 of a gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<RuleMatch>,
}

/// The responses that mean one answer. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with status or body, such as {\"status\": 200, \"body\": \"*paid*\"}"
)]
pub struct AnswerPattern {
    /// A status in one of these ranges.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    status: OneOrMany<StatusRange>,
    /// The whole body, with `*` for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

/// What one question brought, in the record of the attempt that asked it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuestionRecord {
    /// The answer.
    pub answer: ConfirmAnswer,
    /// Why the answer is `unknown`, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What a handler's `confirm` function says about the last attempt of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It took effect, with this result: the job succeeds.
    Done(Payload),
    /// It did not: the policy decides about a retry.
    NotDone,
    /// It is not known yet: the question is repeated.
    Unknown,
}

impl Confirmation {
    /// It took effect.
    pub fn done() -> Self {
        Self::Done(Payload::default())
    }

    /// It took effect, with this result.
    pub fn done_with<T: Serialize>(result: &T) -> Result<Self, Invalid> {
        Payload::encode(result).map(Self::Done)
    }

    /// The answer and the result of the job. A result that is too large is left out: the work is
    /// done all the same.
    pub fn into_parts(self) -> (ConfirmAnswer, Option<Payload>) {
        let fits = |result: &Payload| {
            let text = result.as_str();
            text != "null" && text.len() <= limits::OUTPUT_BYTES_MAX
        };
        match self {
            Self::Done(result) => (ConfirmAnswer::Done, Some(result).filter(fits)),
            Self::NotDone => (ConfirmAnswer::NotDone, None),
            Self::Unknown => (ConfirmAnswer::Unknown, None),
        }
    }
}

/// The texts that stand for values of the job.
const PLACEHOLDERS: [&str; 2] = ["{jobId}", "{idempotencyKey}"];

impl ConfirmSettings {
    /// Refuses settings that cannot work for a job of this kind, with this timeout and key. Whether
    /// the address can be called is for the sender to check.
    pub fn check(
        &self,
        kind: &Kind,
        timeout: Option<Duration>,
        key: Option<&IdempotencyKey>,
    ) -> Result<(), Invalid> {
        self.check_kind(kind)?;
        if let (Some(own), Some(most)) = (self.timeout, timeout)
            && own > most
        {
            let most = duration::format(most);
            let expected = format!("must be at most the timeout of the job, {most}");
            return Err(Invalid::new("timeout", duration::format(own), expected));
        }
        let least = limits::TIMEOUT_MIN;
        if let Some(own) = self.timeout.filter(|own| *own < least) {
            let expected = format!("must be at least {}", duration::format(least));
            return Err(Invalid::new("timeout", duration::format(own), expected));
        }
        if let Some(url) = &self.url {
            check_placeholders(url)?;
        }
        if key.is_none() && self.texts().any(|text| text.contains(PLACEHOLDERS[1])) {
            let expected = "requires that the job has an idempotencyKey; use {jobId} otherwise";
            return Err(Invalid::new("url", PLACEHOLDERS[1], expected));
        }
        for (field, pattern) in [("done", &self.done), ("notDone", &self.not_done)] {
            let checked = pattern.as_ref().map_or(Ok(()), AnswerPattern::check);
            checked.map_err(|error| error.within(field))?;
        }
        let also = self.also.as_ref().map_or(Ok(()), RuleMatch::check);
        also.map_err(|error| error.within("also"))
    }

    fn check_kind(&self, kind: &Kind) -> Result<(), Invalid> {
        if *kind == Kind::webhook() {
            let expected = "must be omitted: a delivery is repeated until it is answered";
            return Err(Invalid::new("url", "a delivery", expected));
        }
        if *kind == Kind::http() {
            let expected = "is required: the address that an HTTP job asks with a GET";
            let missing = || Invalid::new("url", "omitted", expected);
            return self.url.as_ref().map(drop).ok_or_else(missing);
        }
        let given = [
            ("url", self.url.is_some()),
            ("headers", !self.headers.is_empty()),
            ("timeout", self.timeout.is_some()),
            ("done", self.done.is_some()),
            ("notDone", self.not_done.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => {
                let expected = "must be omitted: the worker's confirm function answers";
                Err(Invalid::new(*field, format!("for kind {kind}"), expected))
            }
            None => Ok(()),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let headers = self.headers.values().filter_map(|value| match value {
            HeaderSource::Text(text) => Some(text.as_str()),
            HeaderSource::Secret(_) => None,
        });
        headers.chain(self.url.as_deref())
    }

    /// The address for this job; `None` if it has none.
    pub fn url_for(&self, job: JobId, key: Option<&IdempotencyKey>) -> Option<String> {
        let key = key.map_or("", IdempotencyKey::as_str);
        let url = self.url.as_ref()?;
        Some(fill(url, &job.to_string(), &percent_encoded(key)))
    }

    /// The headers for this job.
    pub fn headers_for(
        &self,
        job: JobId,
        key: Option<&IdempotencyKey>,
    ) -> impl Iterator<Item = (&str, HeaderSource)> {
        let (id, key) = (job.to_string(), key.map_or("", IdempotencyKey::as_str));
        self.headers.iter().map(move |(name, value)| {
            let value = match value {
                HeaderSource::Text(text) => HeaderSource::Text(fill(text, &id, key)),
                secret @ HeaderSource::Secret(_) => secret.clone(),
            };
            (name.as_str(), value)
        })
    }

    /// What a response means.
    pub fn answer(&self, status: u16, body: &str) -> ConfirmAnswer {
        let not_done = match &self.not_done {
            Some(pattern) => pattern.matches(status, body),
            None => matches!(status, 404 | 410),
        };
        let done = match &self.done {
            Some(pattern) => pattern.matches(status, body),
            None => (200..300).contains(&status),
        };
        match (not_done, done) {
            (true, _) => ConfirmAnswer::NotDone,
            (false, true) => ConfirmAnswer::Done,
            (false, false) => ConfirmAnswer::Unknown,
        }
    }
}

impl AnswerPattern {
    /// Responses with a status in one of these ranges, and a body like this if one is given.
    pub fn new(statuses: Vec<StatusRange>, body: Option<String>) -> Self {
        Self {
            status: OneOrMany::new(statuses),
            body,
        }
    }

    fn matches(&self, status: u16, body: &str) -> bool {
        let statuses = self.status.values();
        let has_status = statuses.is_empty() || statuses.iter().any(|range| range.contains(status));
        has_status && self.body.as_ref().is_none_or(|it| glob(it, body))
    }

    fn check(&self) -> Result<(), Invalid> {
        let (body, most) = (self.body.as_deref(), limits::RULE_PATTERN_BYTES_MAX);
        if let Some(body) = body.filter(|body| body.len() > most) {
            let expected = format!("must be at most {most} bytes");
            return Err(Invalid::new("body", format!("{body:?}"), expected));
        }
        let (count, most) = (self.status.values().len(), limits::RULE_CHOICES_MAX);
        if count > most {
            let expected = format!("must be at most {most} entries");
            return Err(Invalid::new("status", format!("{count} entries"), expected));
        }
        if count == 0 && self.body.is_none() {
            let expected = "must have a status or a body: every response matches otherwise";
            return Err(Invalid::new("status", "omitted", expected));
        }
        Ok(())
    }
}

/// Refuses `{job_id}` and the like, which would be sent as they are.
fn check_placeholders(url: &str) -> Result<(), Invalid> {
    for (start, _) in url.match_indices('{') {
        let rest = &url[start..];
        if PLACEHOLDERS.iter().any(|known| rest.starts_with(known)) {
            continue;
        }
        let end = rest.find('}').map_or(rest.len(), |end| end + 1);
        let expected = format!("must be {}", PLACEHOLDERS.join(" or "));
        return Err(Invalid::new("url", &rest[..end], expected));
    }
    Ok(())
}

fn fill(text: &str, id: &str, key: &str) -> String {
    text.replace(PLACEHOLDERS[0], id)
        .replace(PLACEHOLDERS[1], key)
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}

impl Job {
    /// How it asks whether an attempt took effect.
    pub fn confirm(&self) -> Option<&ConfirmSettings> {
        self.extras.as_ref()?.confirm.as_ref()
    }

    /// The number of the attempt that runs, or that the question is about: the claim of a question
    /// counts until it is settled.
    pub fn attempt_number(&self) -> u32 {
        let questions = u32::from(self.is_question() && self.progress.state == JobState::Running);
        self.progress.attempt.saturating_sub(questions)
    }

    /// Whether its next step, or the one that runs, is a question in place of an attempt.
    pub fn is_question(&self) -> bool {
        self.progress.questions_asked().is_some()
    }
}
