//! Tokens by which a command is confirmed after its dry run.
//!
//! A token is signed and carries its facts, so nothing is stored for an agent that never confirms. It
//! holds for one tool, its arguments and one caller, and for no more jobs than the dry run counted.

use std::time::Instant;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{hmac, rand::SystemRandom};

use crate::{api::Caller, limits::CONFIRM_WITHIN};

/// Signs the tokens of one process.
pub struct Confirmations {
    key: hmac::Key,
    started: Instant,
}

/// What a token is for.
pub struct Subject<'a> {
    pub tool: &'a str,
    /// The arguments as JSON, without the token.
    pub arguments: &'a str,
    pub caller: &'a Caller,
}

/// Why a token does not confirm.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    #[error(
        "confirm is not a token for this tool with these arguments; call the tool without confirm to get one"
    )]
    Foreign,
    #[error("confirm has expired; call the tool without confirm to get a new token")]
    Expired,
}

const FACT_BYTES: usize = 16; // not a limit: two numbers of a token

impl Confirmations {
    /// A new key. Tokens of another process are unknown.
    pub fn new() -> Result<Self, ring::error::Unspecified> {
        Ok(Self {
            key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())?,
            started: Instant::now(),
        })
    }

    /// A token that confirms a dry run of this number of jobs.
    pub fn token(&self, subject: &Subject, count: u64, now: Instant) -> String {
        let expires = self.seconds(now) + CONFIRM_WITHIN.as_secs();
        let mut token = [expires.to_be_bytes(), count.to_be_bytes()].concat();
        let tag = hmac::sign(&self.key, &signed(&token, subject));
        token.extend_from_slice(tag.as_ref());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// How many jobs the token confirms.
    pub fn check(&self, token: &str, subject: &Subject, now: Instant) -> Result<u64, ConfirmError> {
        let token = URL_SAFE_NO_PAD.decode(token.trim());
        let token = token.map_err(|_| ConfirmError::Foreign)?;
        let (facts, tag) = token
            .split_at_checked(FACT_BYTES)
            .ok_or(ConfirmError::Foreign)?;
        hmac::verify(&self.key, &signed(facts, subject), tag).map_err(|_| ConfirmError::Foreign)?;
        let (expires, count) = facts.split_at(FACT_BYTES / 2);
        if self.seconds(now) > number(expires) {
            return Err(ConfirmError::Expired);
        }
        Ok(number(count))
    }

    fn seconds(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_secs()
    }
}

/// The facts and their subject. Each part has its length in front, so that no two subjects look
/// alike.
fn signed(facts: &[u8], subject: &Subject) -> Vec<u8> {
    let key = subject.caller.authorization.as_ref();
    let parts = [
        facts,
        subject.tool.as_bytes(),
        subject.arguments.as_bytes(),
        key.map_or(b"".as_slice(), |key| key.as_bytes()),
    ];
    let parts = parts.map(|part| [&part.len().to_be_bytes(), part].concat());
    parts.concat()
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn caller(key: &'static str) -> Caller {
        Caller {
            agent: HeaderValue::from_static("test 1"),
            authorization: Some(HeaderValue::from_static(key)),
        }
    }

    #[test]
    fn a_token_confirms_one_tool_with_its_arguments_for_one_key_in_time() {
        let confirmations = Confirmations::new().unwrap();
        let now = Instant::now();
        let (ann, bob) = (caller("Bearer ann"), caller("Bearer bob"));
        let subject = |tool, arguments, caller| Subject {
            tool,
            arguments,
            caller,
        };
        let own = subject("cancel_job", "{}", &ann);
        let token = confirmations.token(&own, 7, now);
        assert_eq!(confirmations.check(&token, &own, now), Ok(7));
        for other in [
            subject("retry_job", "{}", &ann),
            subject("cancel_job", "{\"job\":1}", &ann),
            subject("cancel_job", "{}", &bob),
        ] {
            let refused = confirmations.check(&token, &other, now);
            assert_eq!(refused, Err(ConfirmError::Foreign));
        }
        let late = now + CONFIRM_WITHIN + CONFIRM_WITHIN;
        let refused = confirmations.check(&token, &own, late);
        assert_eq!(refused, Err(ConfirmError::Expired));
        for broken in ["", "yes", "AAAA", &token[1..], &token[..40]] {
            let refused = confirmations.check(broken, &own, now);
            assert_eq!(refused, Err(ConfirmError::Foreign), "{broken}");
        }
        let other_process = Confirmations::new().unwrap();
        let refused = other_process.check(&token, &own, now);
        assert_eq!(refused, Err(ConfirmError::Foreign));
    }
}
