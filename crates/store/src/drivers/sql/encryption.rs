//! Columns that cannot be read without a key.
//!
//! Payloads, results, results of steps, logs and the bodies of records are encrypted one by one, with
//! AES-256-GCM. Each value has a key of its own, derived from the store's key and half of its 24 random
//! bytes; the other half is the nonce. So one key is good for any number of values. The row and the
//! column are part of what is authenticated: a value that was changed, or copied to another row, is
//! refused, and its row is one that cannot be read.
//!
//! A stored value begins with `~` and the id of its key. JSON never begins so: values from before
//! encryption was turned on are read as they are.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Prk},
    rand::{SecureRandom as _, SystemRandom},
};
use steadfast_core::{Fence, JobId, Webhook};

use super::values::to_json;
use crate::drivers::driver_error::DriverError;
use crate::limits::ENCRYPTION_KEY_ID_CHARS_MAX;

const MARK: char = '~';
const KEY_BYTES: usize = 32; // not a limit: of AES-256
const RANDOM_BYTES: usize = 2 * NONCE_LEN;

/// The keys of a store. The first one encrypts; the others decrypt what was encrypted before.
#[derive(Clone)]
pub struct EncryptionKeys(Arc<[EncryptionKey]>);

struct EncryptionKey {
    id: Box<str>,
    secret: Prk,
}

/// Why a list of keys cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptionKeyError {
    /// There is nothing but blank lines.
    #[error("it has no key: write one line `ID:KEY`, with 32 random bytes in base64 as KEY")]
    Empty,
    /// A line is not `ID:KEY`.
    #[error("line {line} is not `ID:KEY`")]
    NotAKey {
        /// Counted from 1.
        line: usize,
    },
    /// An id has other characters, or too many.
    #[error("line {line}: an id has 1 to 32 lower-case letters, digits, `.`, `_` and `-`")]
    BadId {
        /// Counted from 1.
        line: usize,
    },
    /// A key is not base64, too short or too long, or one byte again and again.
    #[error(
        "line {line}: a key is 32 random bytes in base64, such as `openssl rand -base64 32` prints, and this one is not"
    )]
    BadKey {
        /// Counted from 1.
        line: usize,
    },
    /// Two keys have one id.
    #[error("two keys have the id `{id}`")]
    TwoOfOneId {
        /// Their id.
        id: String,
    },
}

impl EncryptionKeys {
    /// Keys from lines `ID:KEY`, the one that encrypts first. Blank lines and lines that begin with `#`
    /// do not count.
    pub fn parse(text: &str) -> Result<Self, EncryptionKeyError> {
        let mut keys = Vec::new();
        let mut ids = BTreeSet::new();
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (id, key) = text
                .split_once(':')
                .ok_or(EncryptionKeyError::NotAKey { line })?;
            if !is_key_id(id) {
                return Err(EncryptionKeyError::BadId { line });
            }
            let key = STANDARD.decode(key.trim()).unwrap_or_default();
            let is_one_byte = key.windows(2).all(|pair| pair[0] == pair[1]);
            if key.len() != KEY_BYTES || is_one_byte {
                return Err(EncryptionKeyError::BadKey { line });
            }
            if !ids.insert(id) {
                return Err(EncryptionKeyError::TwoOfOneId { id: id.to_owned() });
            }
            keys.push(EncryptionKey {
                id: id.into(),
                secret: Prk::new_less_safe(HKDF_SHA256, &key),
            });
        }
        match keys.is_empty() {
            true => Err(EncryptionKeyError::Empty),
            false => Ok(Self(keys.into())),
        }
    }

    /// The ids, that of the key which encrypts first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| &*key.id)
    }
}

impl fmt::Debug for EncryptionKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.ids()).finish()
    }
}

fn is_key_id(id: &str) -> bool {
    let is_letter =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    (1..=ENCRYPTION_KEY_ID_CHARS_MAX).contains(&id.len()) && id.chars().all(is_letter)
}

/// Where a value stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'c> {
    Payload(JobId),
    Webhook(JobId),
    Output(JobId, Fence),
    Step(JobId, &'c str),
    Log(JobId, Fence),
    Record(&'c str, &'c str),
}

impl Cell<'_> {
    /// No two cells have the same: the parts before the last have no NUL.
    fn identity(self) -> String {
        match self {
            Self::Payload(job) => format!("payload\0{job}"),
            Self::Webhook(job) => format!("webhook\0{job}"),
            Self::Output(job, fence) => format!("output\0{job}\0{}", fence.0),
            Self::Step(job, step) => format!("step\0{job}\0{step}"),
            Self::Log(job, fence) => format!("log\0{job}\0{}", fence.0),
            Self::Record(kind, id) => format!("record\0{kind}\0{id}"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Payload(_) => "payload",
            Self::Webhook(_) => "webhook",
            Self::Output(..) => "output",
            Self::Step(..) => "result of a step",
            Self::Log(..) => "log",
            Self::Record(..) => "record",
        }
    }
}

/// What a store encrypts with, if anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cipher(Option<EncryptionKeys>);

impl Cipher {
    pub(crate) fn new(keys: Option<EncryptionKeys>) -> Self {
        Self(keys)
    }

    /// The ids of the keys, that of the one which encrypts first.
    pub(crate) fn key_ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(EncryptionKeys::ids)
    }

    /// The id of the key that a stored value needs, if it is not here.
    pub(crate) fn missing_key<'t>(&self, stored: &'t str) -> Option<&'t str> {
        key_of(stored).filter(|id| self.key_ids().all(|known| known != *id))
    }

    /// How many bytes are stored for a value of so many.
    pub(crate) fn stored_bytes(&self, bytes: usize) -> usize {
        let Some(id) = self.key_ids().next() else {
            return bytes;
        };
        let sealed = bytes
            .saturating_add(RANDOM_BYTES)
            .saturating_add(AES_256_GCM.tag_len());
        let text = sealed.div_ceil(3).saturating_mul(4);
        text.saturating_add("~:".len() + id.len())
    }

    /// A value as it is stored.
    pub(crate) fn seal<'t>(
        &self,
        cell: Cell<'_>,
        text: &'t str,
    ) -> Result<Cow<'t, str>, DriverError> {
        let Some(keys) = &self.0 else {
            return Ok(Cow::Borrowed(text));
        };
        let [key, ..] = &*keys.0 else {
            return Ok(Cow::Borrowed(text));
        };
        let mut random = [0; RANDOM_BYTES];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| DriverError::unreadable(cell.name(), "the system has no random bytes"))?;
        let mut bytes = Vec::with_capacity(RANDOM_BYTES + text.len() + AES_256_GCM.tag_len());
        bytes.extend_from_slice(text.as_bytes());
        let tag = key.of_value(&random).and_then(|(key, nonce)| {
            let aad = Aad::from(cell.identity());
            key.seal_in_place_separate_tag(nonce, aad, &mut bytes).ok()
        });
        let tag = tag.ok_or_else(|| DriverError::unreadable(cell.name(), "it is too long"))?;
        bytes.extend_from_slice(tag.as_ref());
        let mut sealed = format!("{MARK}{}:", key.id);
        STANDARD.encode_string(random, &mut sealed);
        STANDARD.encode_string(bytes, &mut sealed);
        Ok(Cow::Owned(sealed))
    }

    /// A value from what is stored.
    pub(crate) fn open<'t>(
        &self,
        cell: Cell<'_>,
        stored: &'t str,
    ) -> Result<Cow<'t, str>, DriverError> {
        let Some(sealed) = stored.strip_prefix(MARK) else {
            return Ok(Cow::Borrowed(stored));
        };
        let refused = |reason: String| DriverError::unreadable(cell.name(), reason);
        let (id, text) = sealed
            .split_once(':')
            .ok_or_else(|| refused("it is not whole".to_owned()))?;
        let mut keys = self.0.iter().flat_map(|keys| &*keys.0);
        let key = keys.find(|key| &*key.id == id).ok_or_else(|| {
            refused(format!(
                "it is encrypted with key `{id}`, which this process does not have"
            ))
        })?;
        let opened = key.open(cell, text);
        opened.map(Cow::Owned).ok_or_else(|| {
            refused(format!(
                "it was changed, or copied from another row, since it was encrypted with key `{id}`"
            ))
        })
    }
}

/// The webhook of a job as it is stored: it may have a secret.
pub(crate) fn seal_webhook(
    cipher: &Cipher,
    job: JobId,
    webhook: Option<&Webhook>,
) -> Result<Option<String>, DriverError> {
    let Some(webhook) = webhook else {
        return Ok(None);
    };
    let text = to_json(webhook)?;
    let sealed = cipher.seal(Cell::Webhook(job), &text)?;
    Ok(Some(sealed.into_owned()))
}

/// The webhook of a job from what is stored.
pub(crate) fn open_webhook(
    cipher: &Cipher,
    job: JobId,
    stored: Option<&str>,
) -> Result<Option<Arc<Webhook>>, DriverError> {
    let Some(stored) = stored else {
        return Ok(None);
    };
    let text = cipher.open(Cell::Webhook(job), stored)?;
    let webhook = serde_json::from_str(&text);
    let webhook = webhook.map_err(|error| DriverError::unreadable("webhook", error))?;
    Ok(Some(Arc::new(webhook)))
}

/// The id of the key that a stored value is encrypted with.
pub(crate) fn key_of(stored: &str) -> Option<&str> {
    let (id, _) = stored.strip_prefix(MARK)?.split_once(':')?;
    Some(id)
}

impl EncryptionKey {
    /// The key and the nonce of one value.
    fn of_value(&self, random: &[u8]) -> Option<(LessSafeKey, Nonce)> {
        let (salt, nonce) = random.split_at_checked(NONCE_LEN)?;
        let info = [salt];
        let derived = self.secret.expand(&info, &AES_256_GCM).ok()?;
        let key = LessSafeKey::new(UnboundKey::from(derived));
        Some((key, Nonce::try_assume_unique_for_key(nonce).ok()?))
    }

    fn open(&self, cell: Cell<'_>, text: &str) -> Option<String> {
        let mut bytes = STANDARD.decode(text).ok()?;
        let (random, sealed) = bytes.split_at_mut_checked(RANDOM_BYTES)?;
        let (key, nonce) = self.of_value(random)?;
        let aad = Aad::from(cell.identity());
        let opened = key.open_in_place(nonce, aad, sealed).ok()?;
        Some(std::str::from_utf8(opened).ok()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const TWO: &str = "two:/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn cipher(lines: &[&str]) -> Cipher {
        Cipher::new(Some(EncryptionKeys::parse(&lines.join("\n")).unwrap()))
    }

    #[test]
    fn a_value_is_read_with_its_key_in_its_cell_only() {
        let job = JobId::from_bits(7);
        let cell = Cell::Payload(job);
        let sealed = cipher(&[ONE]).seal(cell, r#"{"a":1}"#).unwrap();
        assert_eq!(key_of(&sealed), Some("one"));
        // The newer key is first, the older one still decrypts.
        let both = cipher(&[TWO, ONE]);
        assert_eq!(both.open(cell, &sealed).unwrap(), r#"{"a":1}"#);
        assert_eq!(key_of(&both.seal(cell, "1").unwrap()), Some("two"));
        for (cipher, cell, sentence) in [
            (
                &Cipher::default(),
                cell,
                "key `one`, which this process does not have",
            ),
            (
                &cipher(&[TWO]),
                cell,
                "key `one`, which this process does not have",
            ),
            (
                &both,
                Cell::Payload(JobId::from_bits(8)),
                "copied from another row",
            ),
            (&both, Cell::Log(job, Fence(1)), "copied from another row"),
        ] {
            let error = cipher.open(cell, &sealed).unwrap_err().to_string();
            assert!(error.contains(sentence), "{error}");
        }
        let other_key = ONE.replace("AAEC", "AAED");
        assert!(cipher(&[&other_key]).open(cell, &sealed).is_err());
    }

    #[test]
    fn no_character_of_a_value_can_be_changed() {
        let cell = Cell::Record("secret", "sec_1");
        let cipher = cipher(&[ONE]);
        let sealed = cipher.seal(cell, r#""swordfish""#).unwrap().into_owned();
        assert!(!sealed.contains("swordfish"));
        for at in "~one:".len()..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(cipher.open(cell, &changed).is_err(), "character {at}");
        }
        assert!(cipher.open(cell, &sealed[..sealed.len() - 4]).is_err());
    }

    #[test]
    fn a_value_without_encryption_is_stored_and_read_as_it_is() {
        let cell = Cell::Step(JobId::from_bits(7), "charge");
        let plain = Cipher::default();
        assert_eq!(plain.seal(cell, "[1]").unwrap(), "[1]");
        assert_eq!(cipher(&[ONE]).open(cell, "[1]").unwrap(), "[1]");
    }

    #[test]
    fn a_list_of_keys_that_cannot_be_used_is_refused_with_its_line() {
        let keys = |text: &str| EncryptionKeys::parse(text).map(drop).unwrap_err();
        assert_eq!(keys("\n# none\n"), EncryptionKeyError::Empty);
        assert_eq!(keys("secret"), EncryptionKeyError::NotAKey { line: 1 });
        assert_eq!(
            keys(&format!("# new\nOne{}", &ONE[3..])),
            EncryptionKeyError::BadId { line: 2 }
        );
        assert_eq!(keys("one:c2hvcnQ="), EncryptionKeyError::BadKey { line: 1 });
        let zeros = STANDARD.encode([0; KEY_BYTES]);
        let bad_key = EncryptionKeyError::BadKey { line: 1 };
        assert_eq!(keys(&format!("one:{zeros}")), bad_key);
        assert_eq!(
            keys(&format!("{ONE}\n{ONE}")),
            EncryptionKeyError::TwoOfOneId {
                id: "one".to_owned()
            }
        );
        assert!(!format!("{:?}", cipher(&[ONE])).contains("AAEC"));
    }
}
