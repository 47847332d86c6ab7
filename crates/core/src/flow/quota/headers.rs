//! The headers in which targets say what remains, and in which forms.
//!
//! A reset is written as seconds from now, as seconds or milliseconds since 1970, as a duration such
//! as `6m0s`, or as a date. The forms cannot be mistaken for each other, so each name may have any of
//! them. What cannot be read is left out: an unknown header must not stop jobs.

use std::time::Duration;

use super::{LimitHeader, TargetQuota};
use crate::{limits, values::Timestamp};

/// The headers of one counter. Of several names the first that is present counts.
struct Counter {
    remaining: &'static str,
    limit: &'static [&'static str],
    /// How much was used, where the limit is not named.
    used: &'static str,
    reset: &'static [&'static str],
}

/// A counter that has the words for limit, remaining and reset at the end of one prefix.
macro_rules! counter {
    ($prefix:literal) => {
        counter!($prefix, "")
    };
    ($prefix:literal, $suffix:literal) => {
        Counter {
            remaining: concat!($prefix, "remaining", $suffix),
            limit: &[concat!($prefix, "limit", $suffix)],
            used: concat!($prefix, "used", $suffix),
            reset: &[
                concat!($prefix, "reset-after", $suffix),
                concat!($prefix, "reset", $suffix),
            ],
        }
    };
}

const COUNTERS: &[Counter] = &[
    counter!("x-ratelimit-"),
    counter!("x-ratelimit-", "-requests"),
    counter!("x-ratelimit-", "-tokens"),
    counter!("x-ratelimit-requests-"),
    counter!("x-ratelimit-tokens-"),
    counter!("x-rate-limit-"),
    counter!("ratelimit-"),
    counter!("anthropic-ratelimit-requests-"),
    counter!("anthropic-ratelimit-tokens-"),
    counter!("anthropic-ratelimit-input-tokens-"),
    counter!("anthropic-ratelimit-output-tokens-"),
];

/// The names of the headers that say what remains.
pub(super) fn remaining_headers() -> impl Iterator<Item = &'static str> {
    COUNTERS.iter().map(|counter| counter.remaining)
}

type Header<'a> = &'a dyn Fn(&str) -> Option<String>;

/// All counters of an answer that can be read.
pub(super) fn counters(header: Header<'_>, now: Timestamp) -> Vec<TargetQuota> {
    let mut found = structured(header);
    for counter in COUNTERS {
        let Some(remaining) = header(counter.remaining).and_then(|text| count(&text)) else {
            continue;
        };
        let first = |names: &[&str]| names.iter().find_map(|name| header(name));
        let Some(resets_in) = first(counter.reset).and_then(|text| until_reset(&text, header, now))
        else {
            continue;
        };
        let limit = first(counter.limit).and_then(|text| count(&text));
        let used = header(counter.used).and_then(|text| count(&text));
        let limit = limit.or_else(|| Some(remaining.saturating_add(used?)));
        found.push(quota(
            LimitHeader::named(counter.remaining),
            remaining,
            limit,
            resets_in,
        ));
    }
    found
}

fn quota(
    header: LimitHeader,
    remaining: u32,
    limit: Option<u32>,
    resets_in: Duration,
) -> TargetQuota {
    let resets_in = resets_in.min(limits::RETRY_AFTER_MAX);
    TargetQuota {
        header,
        remaining,
        // What allows nothing is no limit that half of could be used.
        limit: limit.filter(|limit| *limit > 0),
        resets_in,
        counts_for: resets_in,
    }
}

/// `RateLimit: "default";r=50;t=30` with `RateLimit-Policy: "default";q=100;w=60`, or as earlier
/// drafts had it, `RateLimit: limit=100, remaining=50, reset=30`.
fn structured(header: Header<'_>) -> Vec<TargetQuota> {
    let Some(text) = header("ratelimit") else {
        return Vec::new();
    };
    let items = split(&text, ',');
    let member = |key: &str| parameter(items.iter().copied(), key);
    if let (Some(remaining), Some(reset)) = (member("remaining"), member("reset")) {
        let remaining = count(remaining).zip(seconds(reset));
        let limit = member("limit").and_then(count);
        let quota = |(remaining, reset)| quota(LimitHeader::RATE_LIMIT, remaining, limit, reset);
        return remaining.map(quota).into_iter().collect();
    }
    let policies = header("ratelimit-policy").unwrap_or_default();
    let policies = split(&policies, ',');
    let counters = items.iter().filter_map(|item| {
        let (name, parameters) = item_parts(item);
        let mut policies = policies.iter().map(|policy| item_parts(policy));
        let policy = policies.find(|(known, _)| *known == name);
        let of_policy = |key| {
            let (_, parameters) = policy.as_ref()?;
            parameter(parameters.iter().copied(), key)
        };
        let own = |key| parameter(parameters.iter().copied(), key);
        let remaining = count(own("r")?)?;
        // The window is the longest that the reset can take.
        let reset = own("t").or_else(|| of_policy("w")).and_then(seconds)?;
        let limit = of_policy("q").and_then(count);
        Some(quota(LimitHeader::RATE_LIMIT, remaining, limit, reset))
    });
    counters.collect()
}

fn item_parts(item: &str) -> (&str, Vec<&str>) {
    let mut parts = split(item, ';').into_iter();
    let name = parts.next().unwrap_or_default();
    (name.trim_matches('"'), parts.collect())
}

fn parameter<'a>(mut among: impl Iterator<Item = &'a str>, key: &str) -> Option<&'a str> {
    among.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// The parts of a list, where quoted names may have anything.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = text.split(|c: char| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    parts.map(str::trim).collect()
}

/// The first number of `100`, `599.0` or `100;w=60`. Negative ones mean something that is not known.
fn count(text: &str) -> Option<u32> {
    let first = text.split([',', ';']).next()?;
    let number = finite(first)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite, not negative, and cut to what fits"
    )]
    let number = number as u32;
    Some(number)
}

fn finite(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn seconds(text: &str) -> Option<Duration> {
    finite(text).map(duration)
}

/// More seconds than fit in a duration are cut later like any other.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Larger numbers are times: no caller waits for 31 years.
const EPOCH_SECONDS: f64 = 1e9; // not a limit: the year 2001
/// As milliseconds: the year 2001, or 31,688.
const EPOCH_MILLIS: f64 = 1e12; // not a limit: the year 2001

/// The time until a reset.
fn until_reset(text: &str, header: Header<'_>, now: Timestamp) -> Option<Duration> {
    if let Some(number) = finite(text) {
        return Some(if number >= EPOCH_MILLIS {
            since_answer(epoch(number / 1e3), header, now)
        } else if number >= EPOCH_SECONDS {
            since_answer(epoch(number), header, now)
        } else {
            duration(number)
        });
    }
    if let Some(duration) = unit_duration(text) {
        return Some(duration);
    }
    let text = text.trim();
    let time = text.parse().ok().or_else(|| http_date(text))?;
    Some(since_answer(time, header, now))
}

fn epoch(seconds: f64) -> Timestamp {
    Timestamp::EPOCH.plus(duration(seconds))
}

/// The time from an answer to a time by the target's clock, which may differ from that of the store.
fn since_answer(time: Timestamp, header: Header<'_>, now: Timestamp) -> Duration {
    let answered_at = header("date").and_then(|date| http_date(date.trim()));
    time.since(answered_at.unwrap_or(now))
}

fn http_date(text: &str) -> Option<Timestamp> {
    httpdate::parse_http_date(text).ok().map(Timestamp::from)
}

/// `6m0s`, `20ms`, `2m59.56s`.
fn unit_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total = total.saturating_add(duration(finite(number)? * seconds));
        rest = after;
    }
    (!text.trim().is_empty()).then_some(total)
}

/// How long a target asked the caller of a request that it refused to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedWait {
    /// The wait.
    pub delay: Duration,
    /// The header that says so.
    pub header: LimitHeader,
}

impl RequestedWait {
    /// Of an answer with status 429 or 503: `retry-after-ms` or `Retry-After`, or else the reset of a
    /// counter of which nothing remains. `header` is as in [`TargetQuota::read`].
    pub fn read(
        status: u16,
        header: &dyn Fn(&str) -> Option<String>,
        now: Timestamp,
    ) -> Option<Self> {
        if !matches!(status, 429 | 503) {
            return None;
        }
        let millis = header("retry-after-ms").and_then(|text| finite(&text));
        let millis = millis.map(|millis| (duration(millis / 1e3), LimitHeader::RETRY_AFTER_MS));
        let usual = || {
            let delay = retry_after(&header("retry-after")?, now)?;
            Some((delay, LimitHeader::RETRY_AFTER))
        };
        let used_up = || {
            let quota = TargetQuota::read(header, now).filter(|quota| quota.remaining == 0)?;
            Some((quota.resets_in, quota.header))
        };
        let (delay, header) = millis.or_else(usual).or_else(used_up)?;
        Some(Self { delay, header })
    }
}

/// The delay that a `Retry-After` header asks for: seconds, with or without decimals, or a date.
fn retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let text = header.trim();
    seconds(text).or_else(|| http_date(text).map(|date| date.since(now)))
}
