//! Exceptions to a policy: which failures are retried or given up, whatever their class says.

use std::{fmt, str::FromStr, time::Duration};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer as _},
};

use crate::{
    failure::{Failure, FailureClass},
    limits,
    values::{Invalid, duration},
};

/// "When a failure looks like this, do that." The first rule that matches decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a rule such as {\"match\": {\"status\": [429, \"5xx\"]}, \"then\": \"retry\"}"
)]
pub struct RetryRule {
    /// The failures that it matches.
    #[serde(rename = "match")]
    pub when: RuleMatch,
    /// The action for them.
    pub then: RuleAction,
}

/// The conditions on a failure. All given conditions must hold; without any, it is `"any"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleMatch {
    /// One of these classes; any class if there is none.
    pub classes: Vec<FailureClass>,
    /// An HTTP status in one of these ranges; any failure if there is none.
    pub statuses: Vec<StatusRange>,
    /// The whole message, with `*` for any run of characters.
    pub message: Option<String>,
}

/// The action of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleAction {
    /// Retry as the policy's backoff says.
    Retry,
    /// Give up.
    Fail,
    /// Retry after this long.
    RetryAfter(Duration),
}

/// One HTTP status, or a range of them: `503`, `"5xx"`, `"500-504"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange {
    first: u16,
    last: u16,
}

impl StatusRange {
    /// From the first status to the last.
    pub fn new(first: u16, last: u16) -> Result<Self, Invalid> {
        if 100 <= first && first <= last && last <= 599 {
            return Ok(Self { first, last });
        }
        let expected = "must be between 100 and 599 and ascending";
        Err(Invalid::new("status", format!("{first}-{last}"), expected))
    }

    /// Whether a status lies in it.
    pub(crate) fn contains(&self, status: u16) -> bool {
        (self.first..=self.last).contains(&status)
    }
}

impl RetryRule {
    /// For failures of this class.
    pub fn on_class(class: &str, then: RuleAction) -> Self {
        Self {
            when: RuleMatch {
                classes: vec![FailureClass::named(class)],
                ..RuleMatch::default()
            },
            then,
        }
    }

    /// For HTTP responses in this range.
    pub fn on_status(status: StatusRange, then: RuleAction) -> Self {
        Self {
            when: RuleMatch {
                statuses: vec![status],
                ..RuleMatch::default()
            },
            then,
        }
    }

    /// Whether it is for this failure.
    pub fn matches(&self, failure: &Failure) -> bool {
        self.when.matches(failure)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        self.when.check().map_err(|error| error.within("match"))?;
        if let RuleAction::RetryAfter(delay) = self.then
            && delay > limits::DELAY_MAX
        {
            let value = duration::format(delay);
            let most = duration::format(limits::DELAY_MAX);
            let expected = format!("must be at most {most}");
            return Err(Invalid::new("then.retry", value, expected));
        }
        Ok(())
    }
}

impl RuleMatch {
    /// Whether all conditions hold for this failure.
    pub(crate) fn matches(&self, failure: &Failure) -> bool {
        let Self {
            classes,
            statuses,
            message,
        } = self;
        let is_in = |range: &StatusRange| {
            let status = failure.http_status;
            status.is_some_and(|status| range.contains(status))
        };
        (classes.is_empty() || classes.contains(&failure.class))
            && (statuses.is_empty() || statuses.iter().any(is_in))
            && message
                .as_ref()
                .is_none_or(|pattern| glob(pattern, &failure.message))
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if let Some(pattern) = &self.message
            && pattern.len() > limits::RULE_PATTERN_BYTES_MAX
        {
            let most = limits::RULE_PATTERN_BYTES_MAX;
            let expected = format!("must be at most {most} bytes");
            return Err(Invalid::new("message", pattern, expected));
        }
        let most = limits::RULE_CHOICES_MAX;
        for (field, count) in [
            ("class", self.classes.len()),
            ("status", self.statuses.len()),
        ] {
            if count > most {
                let expected = format!("must be at most {most} entries");
                return Err(Invalid::new(field, format!("{count} entries"), expected));
            }
        }
        Ok(())
    }
}

/// Whether `text` is `pattern` with each `*` standing for any run of characters.
/// Linear for one star and quadratic at worst: no pattern can make it explode.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The object form. One class or status is written without a list.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    class: OneOrMany<FailureClass>,
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    status: OneOrMany<StatusRange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A value, or a list of values; never an empty list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneOrMany<T>(Vec<T>);

impl<T> OneOrMany<T> {
    pub fn new(values: Vec<T>) -> Self {
        Self(values)
    }

    pub fn values(&self) -> &[T] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value or a list, such as 503 or [429, \"5xx\"]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                T::deserialize(text.into_deserializer()).map(|one| vec![one])
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Vec<T>, E> {
                T::deserialize(number.into_deserializer()).map(|one| vec![one])
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut many = Vec::new();
                while let Some(one) = list.next_element()? {
                    many.push(one);
                }
                if many.is_empty() {
                    return Err(de::Error::invalid_length(0, &self));
                }
                Ok(many)
            }
        }

        let visitor = Visitor(std::marker::PhantomData);
        deserializer.deserialize_any(visitor).map(Self)
    }
}

impl Serialize for RuleMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::default() {
            return serializer.serialize_str("any");
        }
        let conditions = self.clone();
        Conditions {
            class: OneOrMany(conditions.classes),
            status: OneOrMany(conditions.statuses),
            message: conditions.message,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RuleMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RuleMatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "\"any\", or an object with class, status or message, such as {\"status\": 404}",
                )
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<RuleMatch, E> {
                match word {
                    "any" => Ok(RuleMatch::default()),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<RuleMatch, M::Error> {
                let given = Conditions::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(RuleMatch {
                    classes: given.class.0,
                    statuses: given.status.0,
                    message: given.message,
                })
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for RuleAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Retry {
            retry: duration::Text,
        }
        match self {
            Self::Retry => serializer.serialize_str("retry"),
            Self::Fail => serializer.serialize_str("fail"),
            Self::RetryAfter(delay) => Retry {
                retry: duration::Text(*delay),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RuleAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Retry {
            retry: duration::Text,
        }
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RuleAction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"retry\", \"fail\" or {\"retry\": \"30s\"}")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<RuleAction, E> {
                match word {
                    "retry" => Ok(RuleAction::Retry),
                    "fail" => Ok(RuleAction::Fail),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<RuleAction, M::Error> {
                let given = Retry::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(RuleAction::RetryAfter(given.retry.0))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

impl FromStr for StatusRange {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let range = match text.split_once('-') {
            Some((first, last)) => first.parse().ok().zip(last.parse().ok()),
            None => match text.strip_suffix("xx") {
                Some(hundreds) => hundreds
                    .parse::<u16>()
                    .ok()
                    .filter(|hundreds| *hundreds < 10)
                    .map(|hundreds| (hundreds * 100, hundreds * 100 + 99)),
                None => text.parse().ok().map(|one| (one, one)),
            },
        };
        range
            .and_then(|(first, last)| Self::new(first, last).ok())
            .ok_or_else(|| {
                let expected = "must be an HTTP status such as 503, \"5xx\" or \"500-504\"";
                Invalid::new("status", format!("{text:?}"), expected)
            })
    }
}

impl Serialize for StatusRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StatusRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = StatusRange;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an HTTP status such as 503, \"5xx\" or \"500-504\"")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<StatusRange, E> {
                number.to_string().parse().map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StatusRange, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> RetryRule {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_rule_matches_on_everything_it_names() {
        let failure = Failure::http(503, "upstream connect error");
        for (json, matches) in [
            (r#"{"match":"any","then":"retry"}"#, true),
            (r#"{"match":{"class":"http"},"then":"fail"}"#, true),
            (r#"{"match":{"class":"timeout"},"then":"fail"}"#, false),
            (r#"{"match":{"status":503},"then":"fail"}"#, true),
            (r#"{"match":{"status":"5xx"},"then":"fail"}"#, true),
            (r#"{"match":{"status":"500-502"},"then":"fail"}"#, false),
            (r#"{"match":{"status":[404,"5xx"]},"then":"fail"}"#, true),
            (
                r#"{"match":{"status":[404,"500-502"]},"then":"fail"}"#,
                false,
            ),
            (r#"{"match":{"class":["dns","http"]},"then":"fail"}"#, true),
            (r#"{"match":{"class":["dns","tls"]},"then":"fail"}"#, false),
            (r#"{"match":{"message":"upstream*"},"then":"fail"}"#, true),
            (r#"{"match":{"message":"*connect*"},"then":"fail"}"#, true),
            (r#"{"match":{"message":"connect"},"then":"fail"}"#, false),
            (
                r#"{"match":{"status":503,"class":"dns"},"then":"fail"}"#,
                false,
            ),
        ] {
            assert_eq!(rule(json).matches(&failure), matches, "{json}");
        }
        let plain = Failure::new(FailureClass::ERROR, "no status");
        assert!(!rule(r#"{"match":{"status":"4xx"},"then":"fail"}"#).matches(&plain));
    }

    #[test]
    fn rules_read_and_write_the_same_json() {
        for json in [
            r#"{"match":"any","then":"retry"}"#,
            r#"{"match":{"class":"validation"},"then":{"retry":"30s"}}"#,
            r#"{"match":{"status":"500-599","message":"*x*"},"then":"fail"}"#,
            r#"{"match":{"class":["dns","tls"],"status":["404","500-599"]},"then":"retry"}"#,
        ] {
            assert_eq!(serde_json::to_string(&rule(json)).unwrap(), json);
        }
        for json in [
            r#"{"match":"none","then":"retry"}"#,
            r#"{"match":{"code":1},"then":"retry"}"#,
            r#"{"match":{"status":"6xx"},"then":"retry"}"#,
            r#"{"match":"any","then":"maybe"}"#,
        ] {
            assert!(serde_json::from_str::<RetryRule>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_wrong_rule_is_refused_with_an_example() {
        for (json, example) in [
            (r#""retry""#, r#"as {"match": {"status": [429, "5xx"]}"#),
            (
                r#"{"match":"none","then":"retry"}"#,
                r#"as {"status": 404}"#,
            ),
            (
                r#"{"match":{"status":true},"then":"retry"}"#,
                r#"503 or [429, "5xx"]"#,
            ),
            (
                r#"{"match":{"status":[]},"then":"retry"}"#,
                r#"503 or [429, "5xx"]"#,
            ),
            (
                r#"{"match":{"status":[true]},"then":"retry"}"#,
                r#"503, "5xx" or "500-504""#,
            ),
            (
                r#"{"match":{"status":99},"then":"retry"}"#,
                r#"503, "5xx" or "500-504""#,
            ),
            (r#"{"match":"any","then":"maybe"}"#, r#"{"retry": "30s"}"#),
        ] {
            let error = serde_json::from_str::<RetryRule>(json).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(example), "{json}: {error}");
        }
    }

    #[test]
    fn a_pattern_covers_the_whole_text() {
        for (pattern, text, matches) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*b", "ab", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*a", "a", false),
            ("*ß*", "straße", true),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern:?} on {text:?}");
        }
    }
}
