//! Fingerprints: failures with the same cause get the same number, even if their texts differ.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use super::{Failure, FailureClass, normalize::normalize_message};
use crate::values::{Destination, Invalid, Kind};

/// A number shared by failures with the same cause. Its text is 16 hexadecimal digits.
///
/// The first byte is the version of the scheme. The other seven are the first of a SHA-256 over
/// class, status, origin and [pattern](Failure::pattern), each after its length in eight
/// little-endian bytes. The origin is `kind` and the kind, or for built-in kinds, which call
/// whatever address they are given, `destination` and the destination. Stored fingerprints outlive
/// a version of the product: a change to any of it is a new scheme.
///
/// ```
/// use steadfast_core::{Failure, FailureClass, FailureFingerprint, Kind};
///
/// let kind = Kind::new("mail").unwrap();
/// let of = |message| {
///     let failure = Failure::new(FailureClass::ERROR, message);
///     FailureFingerprint::of(&failure, &kind, None)
/// };
/// assert_eq!(of("no mailbox for user844@example.com"), of("no mailbox for user12@example.org"));
/// assert_ne!(of("no mailbox for user844@example.com"), of("mailbox of user844@example.com is full"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailureFingerprint(u64);

/// The version of the scheme.
const SCHEME: u8 = 1; // not a limit: a version

const DIGITS: usize = 16; // not a limit: follows from the format

impl FailureFingerprint {
    /// The fingerprint of a failure of a job of this kind, which calls this destination.
    pub fn of(failure: &Failure, kind: &Kind, destination: Option<&Destination>) -> Self {
        let is_built_in = [Kind::http(), Kind::webhook()].contains(kind);
        let origin = match destination.filter(|_| is_built_in) {
            Some(destination) => ["destination", destination.as_str()],
            None => ["kind", kind.as_str()],
        };
        let status = failure.http_status.map(|status| status.to_string());
        let mut hash = Sha256::new();
        for field in [
            failure.class.as_str(),
            &status.unwrap_or_default(),
            origin[0],
            origin[1],
            &failure.pattern(),
        ] {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field.as_bytes());
        }
        let digest = hash.finalize();
        let mut bytes = [SCHEME; 8];
        bytes[1..].copy_from_slice(&digest[..7]);
        Self(u64::from_be_bytes(bytes))
    }

    /// What failures are counted under when a tenant has
    /// [`limits::FAILURE_GROUPS_MAX`](crate::limits::FAILURE_GROUPS_MAX) groups already.
    pub const OTHER: Self = Self(0);

    /// The fingerprint of these bits, as a store reads it back; any bits are accepted.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits, as a store keeps them.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl Failure {
    /// The message with its changing parts (numbers, ids, addresses, times, quoted values, …) as
    /// `#`: what all failures of one cause have in common. It is one line of at most
    /// [`limits::PATTERN_BYTES_MAX`](crate::limits::PATTERN_BYTES_MAX) bytes.
    pub fn pattern(&self) -> String {
        // The message of an attempt that was lost only names its holder.
        if self.class == FailureClass::LOST {
            return String::new();
        }
        normalize_message(&self.message)
    }
}

impl fmt::Display for FailureFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for FailureFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for FailureFingerprint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_hex = text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = u64::from_str_radix(text, 16).ok();
        bits.filter(|_| is_hex && text.len() == DIGITS)
            .map(Self)
            .ok_or_else(|| {
                let expected = format!("must be {DIGITS} hexadecimal digits (0–9, a–f)");
                Invalid::new("fingerprint", format!("{text:?}"), expected)
            })
    }
}

impl Serialize for FailureFingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FailureFingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::limits;

    const CORPUS: &str = include_str!("corpus.txt");

    fn of(message: &str) -> FailureFingerprint {
        let kind = Kind::new("mail").unwrap();
        FailureFingerprint::of(&Failure::new(FailureClass::ERROR, message), &kind, None)
    }

    fn unescape(line: &str) -> String {
        line.replace("\\n", "\n").replace("\\t", "\t")
    }

    /// The groups of the corpus: a line `# name`, and below it its messages, `\n` for a new line.
    fn groups() -> Vec<(&'static str, Vec<String>)> {
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for line in CORPUS.lines().filter(|line| !line.is_empty()) {
            match (line.strip_prefix("# "), groups.last_mut()) {
                (Some(name), _) => groups.push((name, Vec::new())),
                (None, Some((_, messages))) => messages.push(unescape(line)),
                (None, None) => panic!("{line} stands before the first group"),
            }
        }
        groups
    }

    #[test]
    fn what_people_would_group_is_one_group_and_the_rest_is_apart() {
        let groups = groups();
        let count: usize = groups.iter().map(|(_, messages)| messages.len()).sum();
        assert!(
            groups.len() >= 40 && count >= 150,
            "{} {count}",
            groups.len()
        );
        let mut faults = Vec::new();
        let mut seen: BTreeMap<FailureFingerprint, &str> = BTreeMap::new();
        for (name, messages) in &groups {
            let first = normalize_message(&messages[0]);
            for message in messages {
                let pattern = normalize_message(message);
                if pattern != first {
                    faults.push(format!("{name}:\n  {first}\n  {pattern}"));
                }
            }
            if let Some(other) = seen.insert(of(&messages[0]), name) {
                faults.push(format!("{name} is one with {other}: {first}"));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn class_status_kind_and_destination_keep_failures_apart() {
        let [mail, sms] = ["mail", "sms"].map(|kind| Kind::new(kind).unwrap());
        let [one, two] = ["https://a.example", "https://b.example"]
            .map(|destination| Destination::new(destination).unwrap());
        let error = Failure::new(FailureClass::ERROR, "no answer");
        let timeout = Failure::new(FailureClass::TIMEOUT, "no answer");
        let http = |status| Failure::http(status, "no answer");
        let all = [
            FailureFingerprint::of(&error, &mail, None),
            FailureFingerprint::of(&timeout, &mail, None),
            FailureFingerprint::of(&error, &sms, None),
            FailureFingerprint::of(&http(502), &mail, None),
            FailureFingerprint::of(&http(503), &mail, None),
            FailureFingerprint::of(&http(503), &Kind::http(), Some(&one)),
            FailureFingerprint::of(&http(503), &Kind::http(), Some(&two)),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        // One handler calls many destinations, and is to blame for its own errors.
        assert_eq!(
            FailureFingerprint::of(&error, &mail, Some(&one)),
            FailureFingerprint::of(&error, &mail, Some(&two))
        );
    }

    #[test]
    fn lost_attempts_are_one_group_whichever_worker_held_them() {
        let kind = Kind::new("mail").unwrap();
        let lost = |worker: &str| {
            let message = format!("the lease of {worker} expired; the worker may have died");
            FailureFingerprint::of(&Failure::new(FailureClass::LOST, message), &kind, None)
        };
        assert_eq!(lost("alice"), lost("bob"));
    }

    /// Fingerprints are stored, so this text must not change as long as the scheme is the first.
    #[test]
    fn the_scheme_gives_this_text() {
        let fingerprint = of("user844@@example.com: mailbox full (552)");
        assert_eq!(fingerprint.to_string(), "01725bb71d23924e");
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!(
            "01E1"
                .parse::<FailureFingerprint>()
                .unwrap_err()
                .to_string(),
            "fingerprint is \"01E1\": must be 16 hexadecimal digits (0–9, a–f)"
        );
    }

    proptest! {
        #[test]
        fn another_number_is_never_another_group(
            words in proptest::collection::vec("[a-z]{3,9}", 2..8),
            numbers: [u32; 2],
            place in 0..8_usize,
        ) {
            let text = |number: u32| {
                let mut words = words.clone();
                words.insert(place.min(words.len()), number.to_string());
                words.join(" ")
            };
            let is_status = words.iter().any(|word| super::super::vocabulary::is_before_status(word));
            prop_assume!(!is_status);
            prop_assert_eq!(of(&text(numbers[0])), of(&text(numbers[1])));
        }

        #[test]
        fn another_id_is_never_another_group(ids: [u128; 2], hex: [u64; 2], place in 0..4_usize) {
            let forms = |id: u128, hex: u64| {
                let uuid = format!("{id:032x}");
                let parts = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]];
                [parts.join("-"), uuid.clone(), format!("0x{hex:x}"), format!("{hex:016x}")]
            };
            let text = |id: u128, hex| format!("cannot charge {} again", forms(id, hex)[place]);
            prop_assert_eq!(of(&text(ids[0], hex[0])), of(&text(ids[1], hex[1])));
        }

        #[test]
        fn every_text_has_a_pattern_within_its_bounds(text in "\\PC{0,600}") {
            let pattern = normalize_message(&text);
            prop_assert!(pattern.len() <= limits::PATTERN_BYTES_MAX);
            prop_assert!(!pattern.contains('\n'));
        }
    }
}
