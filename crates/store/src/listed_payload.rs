//! What a list shows of a payload.
//!
//! Payloads are up to a quarter of a megabyte each, and a list has hundreds of jobs, so lists
//! come without them. Only a request that is to be sent is shown by its address and method, which
//! stand at the beginning of it.

use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::json;
use steadfast_core::{Job, Kind, Payload};

use crate::limits::PAYLOAD_HEAD_CHARS;

/// Whether lists show something of the payloads of a kind.
pub(crate) fn is_listed(kind: &Kind) -> bool {
    *kind == Kind::http()
}

/// A job as lists show it.
pub(crate) fn listed(mut job: Job) -> Job {
    job.payload = if is_listed(&job.kind) {
        let head = job.payload.as_str();
        let end = head
            .char_indices()
            .nth(PAYLOAD_HEAD_CHARS)
            .map_or(head.len(), |(end, _)| end);
        listed_payload(&head[..end])
    } else {
        Payload::default()
    };
    job
}

/// Listed jobs with their payloads, where these were read.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn with_payloads(
    jobs: Vec<Option<Job>>,
    payloads: Vec<Option<Payload>>,
) -> Vec<Option<Job>> {
    let pairs = jobs.into_iter().zip(payloads);
    let shown = pairs.map(|(job, payload)| {
        let mut job = job?;
        job.payload = payload.unwrap_or(job.payload);
        Some(job)
    });
    shown.collect()
}

/// The address and method of a request, from the beginning of its payload, which may be cut off
/// anywhere.
pub(crate) fn listed_payload(head: &str) -> Payload {
    let mut request = RequestHead::default();
    // What comes before the cut was seen when the error is met.
    let _ = serde_json::Deserializer::from_str(head).deserialize_map(&mut request);
    let Some(url) = request.url else {
        return Payload::default();
    };
    let shown = match request.method {
        Some(method) => json!({"url": url, "method": method}),
        None => json!({"url": url}),
    };
    Payload::encode(&shown).unwrap_or_default()
}

#[derive(Default)]
struct RequestHead {
    url: Option<String>,
    method: Option<String>,
}

impl<'de> Visitor<'de> for &mut RequestHead {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "url" => self.url = Some(map.next_value()?),
                "method" => self.method = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_is_cut_off_still_shows_address_and_method() {
        for (head, shown) in [
            (
                r#"{"url":"http://a","method":"GET","body":{"x":1}}"#,
                r#"{"method":"GET","url":"http://a"}"#,
            ),
            (
                r#"{"url":"http://a","method":"GET","body":{"x":"lon"#,
                r#"{"method":"GET","url":"http://a"}"#,
            ),
            (r#"{"url":"http://a","bo"#, r#"{"url":"http://a"}"#),
            (r#"{"url":"http://a"#, "null"),
            ("[1]", "null"),
            ("", "null"),
        ] {
            let payload = listed_payload(head);
            let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
            assert_eq!(
                payload.decode::<serde_json::Value>().unwrap(),
                shown,
                "{head}"
            );
        }
    }
}
