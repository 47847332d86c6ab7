//! The place of a job in a distributed trace, as W3C Trace Context writes it.

use std::fmt;

use super::{invalid::Invalid, tags::Tags};

/// A `traceparent`, as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traceparent(String);

/// The name under which earlier versions kept it among the tags of a job: none of its creator's own
/// can have it.
const TAG: &str = "";

impl Traceparent {
    /// Refuses text that W3C Trace Context would have receivers ignore: four groups of lower-case
    /// hex digits, none of the ids all zeros.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        if is_valid(text) {
            return Ok(Self(text.to_owned()));
        }
        let expected = "must be of the form 00-<32 hex digits>-<16 hex digits>-<2 hex digits>";
        Err(Invalid::new("traceparent", format!("{text:?}"), expected))
    }

    /// Written from the ids of a trace and of a span in it; `None` if one of them is zero.
    pub fn from_ids(trace: u128, span: u64, flags: u8) -> Option<Self> {
        let is_valid = trace != 0 && span != 0;
        is_valid.then(|| Self(format!("00-{trace:032x}-{span:016x}-{flags:02x}")))
    }

    /// The ids of the trace and of the span in it, and the flags.
    pub fn ids(&self) -> (u128, u64, u8) {
        let mut parts = self.0.split('-').skip(1);
        let mut part = || parts.next().unwrap_or_default();
        (
            u128::from_str_radix(part(), 16).unwrap_or_default(),
            u64::from_str_radix(part(), 16).unwrap_or_default(),
            u8::from_str_radix(part(), 16).unwrap_or_default(),
        )
    }

    /// Takes it out of the tags of a job that an earlier version stored, which has it among them.
    pub fn take_from(tags: &mut Tags) -> Option<Self> {
        Self::new(&tags.remove(TAG)?).ok()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_valid(text: &str) -> bool {
    let is_hex = |part: &str| {
        let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        part.chars().all(digit)
    };
    let is_set = |part: &str| part.chars().any(|c| c != '0');
    let parts: Vec<&str> = text.splitn(5, '-').collect();
    let [version, trace, parent, flags, rest @ ..] = parts.as_slice() else {
        return false;
    };
    let lengths = [version.len(), trace.len(), parent.len(), flags.len()];
    // Later versions may append fields; ff is no version.
    let rest_is_right = rest.is_empty() || (*version != "00" && text.len() <= TEXT_BYTES_MAX);
    lengths == [2, 32, 16, 2]
        && [version, trace, parent, flags]
            .iter()
            .all(|part| is_hex(part))
        && rest
            .iter()
            .all(|part| part.chars().all(|c| c.is_ascii_graphic()))
        && is_set(trace)
        && is_set(parent)
        && *version != "ff"
        && rest_is_right
}

/// As long as a tag.
const TEXT_BYTES_MAX: usize = crate::limits::TAG_BYTES_MAX; // not a limit of its own

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_receivers_accept_is_accepted() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let read = Traceparent::new(good).unwrap();
        assert_eq!(read.as_str(), good);
        let (trace, span, flags) = read.ids();
        assert_eq!(Traceparent::from_ids(trace, span, flags).unwrap(), read);
        assert_eq!(Traceparent::from_ids(0, span, flags), None);
        let later = good.replacen("00-", "cc-", 1);
        assert!(Traceparent::new(&format!("{later}-what-will-come")).is_ok());
        for bad in [
            "",
            "00",
            &good.to_uppercase(),
            &good[..good.len() - 1],
            &format!("{good}-more"),
            &format!("{later}-\u{e4}"),
            &format!("{later}-{}", "x".repeat(300)),
            &good.replacen("00-", "ff-", 1),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            let error = Traceparent::new(bad).unwrap_err();
            assert_eq!(error.field, "traceparent", "{bad}");
        }
    }
}
