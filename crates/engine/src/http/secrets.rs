//! The secrets of one request: put into its headers, and taken out of what is recorded.

use http::{HeaderMap, HeaderValue};
use steadfast_core::{Failure, FailureClass, Outcome, SecretName, SecretReference, SecretValue};

use super::{
    request::{SecretHeader, check_header_bytes, header_bytes},
    response::RecordedResponse,
};
use crate::{
    attempt::context::AttemptContext,
    limits::http::{LOOKUP_SNOOZE, SECRET_PART_BYTES_MIN},
};

/// The secrets that a request carries, which its target may send back.
#[derive(Default)]
pub(super) struct RevealedSecrets(Vec<(SecretName, SecretValue)>);

impl RevealedSecrets {
    /// Looks up the secrets of these headers as they are at this moment, and adds the headers. The
    /// outcome if that cannot be done: nothing was sent, and the policy decides about a retry.
    pub async fn add_to(
        headers: &mut HeaderMap,
        references: &[SecretHeader],
        attempt: &AttemptContext,
    ) -> Result<Self, Outcome> {
        let mut revealed = Vec::with_capacity(references.len());
        for (header, SecretReference { secret, prefix }) in references {
            let tenant = &attempt.job().tenant;
            let found = attempt.client().reveal_secret(tenant, secret).await;
            let found = found.map_err(|error| match error.is_transient() {
                true => Outcome::Snoozed(LOOKUP_SNOOZE),
                false => refused(format!("secret {secret} cannot be read: {error}")),
            })?;
            let value = found.ok_or_else(|| {
                refused(format!(
                    "secret {secret} does not exist in tenant {tenant}: set it with PUT /secrets/{secret}"
                ))
            })?;
            let text = format!("{prefix}{}", value.reveal());
            let mut text = HeaderValue::try_from(text)
                .map_err(|_| refused(format!("secret {secret} does not fit in a header")))?;
            text.set_sensitive(true);
            headers.insert(header.clone(), text);
            revealed.push((secret.clone(), value));
        }
        check_header_bytes(headers.len(), header_bytes(headers))
            .map_err(|error| refused(error.to_string()))?;
        Ok(Self(revealed))
    }

    /// The same response with the names of the secrets in place of their values.
    pub fn redact(&self, mut response: RecordedResponse) -> RecordedResponse {
        for (name, value) in &self.0 {
            let hidden = format!("(secret {name})");
            let is_cut = response.truncated;
            for text in response.texts() {
                redact_text(text, value.reveal(), &hidden);
            }
            if is_cut {
                redact_end(&mut response.body, value.reveal(), &hidden);
            }
        }
        response
    }
}

fn refused(message: String) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::SECRET, message),
        output: None,
    }
}

fn redact_text(text: &mut String, value: &str, hidden: &str) {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    // As it stands within the quotes of JSON.
    let in_json = quoted.trim_matches('"');
    for value in [value, in_json] {
        if text.contains(value) {
            *text = text.replace(value, hidden);
        }
    }
}

/// The end of a body may be the beginning of a secret.
fn redact_end(text: &mut String, value: &str, hidden: &str) {
    let parts = (SECRET_PART_BYTES_MIN..value.len()).rev();
    let mut parts = parts.filter_map(|end| value.get(..end));
    if let Some(part) = parts.find(|part| text.ends_with(part)) {
        text.truncate(text.len() - part.len());
        text.push_str(hidden);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_a_text_has_it() {
        let value = r#"pass"word\1"#;
        for (text, expected) in [
            (
                r#"you sent pass"word\1, pass"word\1"#,
                "you sent (hidden), (hidden)",
            ),
            (r#"{"auth": "pass\"word\\1"}"#, r#"{"auth": "(hidden)"}"#),
            ("nothing", "nothing"),
        ] {
            let mut text = text.to_owned();
            redact_text(&mut text, value, "(hidden)");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_secret_is_hidden_where_the_end_of_a_body_cuts_it() {
        for (text, expected) in [
            ("you sent sk_live_12", "you sent (hidden)"),
            ("you sent sk_l", "you sent (hidden)"),
            ("you sent sk", "you sent sk"),
            ("you sent sk_dead", "you sent sk_dead"),
        ] {
            let mut text = text.to_owned();
            redact_end(&mut text, "sk_live_1234", "(hidden)");
            assert_eq!(text, expected);
        }
    }
}
