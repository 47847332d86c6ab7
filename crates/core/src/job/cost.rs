//! What an attempt uses of things that are limited beside its start: tokens, money, rows.
//!
//! Amounts are whole millionths, so that what is reserved, given back and charged adds up exactly.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    job::Job,
    limits::{COST_MAX, COST_UNITS_MAX, UNIT_BYTES_MAX},
    values::{Invalid, Timestamp},
};

/// One of a unit, in the millionths that are counted.
const ONE: i64 = 1_000_000; // not a limit: the precision

/// A unit of cost, such as `tokens` or `usd`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit([u8; UNIT_BYTES_MAX]);

impl Unit {
    /// Attempts that start: each costs one.
    pub const STARTS: Self = Self(*b"starts\0\0\0\0\0\0\0\0\0\0");

    /// Refuses a name that is empty, too long, or has other characters than lower-case letters, digits,
    /// `-` and `_`.
    ///
    /// ```
    /// use steadfast_core::Unit;
    ///
    /// assert_eq!(Unit::new("tokens").unwrap().as_str(), "tokens");
    /// assert!(Unit::new("US dollars").is_err());
    /// ```
    pub fn new(name: &str) -> Result<Self, Invalid> {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        let mut bytes = [0; UNIT_BYTES_MAX];
        match bytes.get_mut(..name.len()) {
            Some(place) if !name.is_empty() && name.bytes().all(is_allowed) => {
                place.copy_from_slice(name.as_bytes());
                Ok(Self(bytes))
            }
            _ => {
                let expected = format!(
                    "must have 1 to {UNIT_BYTES_MAX} lower-case letters, digits, - or _, such as \
                     tokens"
                );
                Err(Invalid::new("unit", format!("{name:?}"), expected))
            }
        }
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0);
        let name = &self.0[..end.unwrap_or(self.0.len())];
        std::str::from_utf8(name).unwrap_or_default()
    }
}

impl Default for Unit {
    fn default() -> Self {
        Self::STARTS
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl FromStr for Unit {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::new(name)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Self::new(&name).map_err(de::Error::custom)
    }
}

/// Amounts by unit: what an attempt is expected to use, or has used. As JSON it is what stores keep,
/// in millionths.
///
/// ```
/// use steadfast_core::Cost;
///
/// let cost = Cost::new([("tokens", 1_800.0), ("usd", 0.02)]).unwrap();
/// assert_eq!(cost.to_string(), "1,800 tokens, 0.02 usd");
/// let error = Cost::new([("usd", -1.0)]).unwrap_err();
/// assert_eq!(error.to_string(), "usd is -1: must be between 0 and 1000000000");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(BTreeMap<Unit, i64>);

impl Cost {
    /// Refuses amounts that are negative or no numbers, units that are none, and too many of them.
    pub fn new<'n>(amounts: impl IntoIterator<Item = (&'n str, f64)>) -> Result<Self, Invalid> {
        let mut cost = BTreeMap::new();
        for (name, amount) in amounts {
            let unit = Unit::new(name)?;
            if unit == Unit::STARTS {
                let expected = "must be omitted: each attempt is one start";
                return Err(Invalid::new(name, amount, expected));
            }
            if !(0.0..=f64::from(COST_MAX)).contains(&amount) {
                let expected = format!("must be between 0 and {COST_MAX}");
                return Err(Invalid::new(name, amount, expected));
            }
            #[expect(clippy::cast_possible_truncation, reason = "it is in the range")]
            let millionths = (amount * ONE as f64).round() as i64;
            cost.insert(unit, millionths);
        }
        if cost.len() > COST_UNITS_MAX {
            let expected = format!("must have at most {COST_UNITS_MAX} units");
            return Err(Invalid::new("units", cost.len(), expected));
        }
        Ok(Self(cost))
    }

    /// Whether it names no unit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The amounts by unit, as people write them.
    pub fn amounts(&self) -> BTreeMap<String, f64> {
        let amounts = self.0.iter();
        let amounts = amounts.map(|(unit, millionths)| (unit.to_string(), in_ones(*millionths)));
        amounts.collect()
    }

    /// How many millionths of a unit; each attempt is one start.
    pub(crate) fn millionths(&self, unit: Unit) -> i64 {
        match unit {
            Unit::STARTS => ONE,
            _ => self.0.get(&unit).copied().unwrap_or(0),
        }
    }
}

impl Job {
    /// What an attempt is expected to use.
    pub fn cost(&self) -> &Cost {
        static NOTHING: Cost = Cost(BTreeMap::new());
        let cost = self.extras.as_ref().and_then(|extras| extras.cost.as_ref());
        cost.unwrap_or(&NOTHING)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (unit, millionths)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {unit}", amount_text(*millionths))?;
        }
        Ok(())
    }
}

/// What follows at gates from the end of an attempt: what it used beyond what was reserved for it, or
/// what it did not use of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostChange {
    /// When it was reserved: at the start of the attempt.
    at: Timestamp,
    /// In millionths; negative is given back.
    by: BTreeMap<Unit, i64>,
}

impl CostChange {
    /// The difference between what was used and what was reserved; `None` if there is none. Units that
    /// the report does not name are charged as reserved.
    pub(crate) fn of_report(at: Timestamp, reserved: &Cost, used: &Cost) -> Option<Self> {
        let by = used.0.iter();
        let by = by.map(|(unit, used)| (*unit, used - reserved.millionths(*unit)));
        Self::some(at, by)
    }

    /// All that was reserved is given back: nothing was run. The start itself is not.
    pub(crate) fn of_all(at: Timestamp, reserved: &Cost) -> Option<Self> {
        let by = reserved.0.iter().map(|(unit, reserved)| (*unit, -reserved));
        Self::some(at, by)
    }

    fn some(at: Timestamp, by: impl Iterator<Item = (Unit, i64)>) -> Option<Self> {
        let by: BTreeMap<Unit, i64> = by.filter(|(_, by)| *by != 0).collect();
        (!by.is_empty()).then_some(Self { at, by })
    }

    pub(crate) fn at(&self) -> Timestamp {
        self.at
    }

    pub(crate) fn millionths(&self, unit: Unit) -> i64 {
        self.by.get(&unit).copied().unwrap_or(0)
    }
}

fn in_ones(millionths: i64) -> f64 {
    millionths as f64 / ONE as f64
}

/// Whole ones as millionths.
pub(crate) fn ones(amount: u32) -> i64 {
    i64::from(amount) * ONE
}

/// Complete ones of millionths.
pub(crate) fn whole_ones(millionths: i64) -> u32 {
    u32::try_from(millionths.max(0) / ONE).unwrap_or(u32::MAX)
}

/// `1,800`, `0.02`; less than nothing is nothing, and long fractions are cut.
pub(crate) fn amount_text(millionths: i64) -> String {
    let millionths = millionths.max(0);
    let digits = (millionths / ONE).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let fraction = format!("{:06}", millionths % ONE);
    let fraction = fraction.trim_end_matches('0');
    match fraction.is_empty() {
        true => text,
        false => format!("{text}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_people_read_them() {
        let text = |amount: f64| Cost::new([("usd", amount)]).unwrap().to_string();
        assert_eq!(text(0.0), "0 usd");
        assert_eq!(text(1_234_567.0), "1,234,567 usd");
        assert_eq!(text(0.02), "0.02 usd");
        assert_eq!(text(999.5), "999.5 usd");
        assert_eq!(text(1e9), "1,000,000,000 usd");
        assert_eq!(amount_text(-5), "0");
    }

    #[test]
    fn what_is_no_cost_is_refused_with_the_unit() {
        let refusal = |name: &str, amount| Cost::new([(name, amount)]).unwrap_err().to_string();
        for amount in [-0.1, f64::NAN, f64::INFINITY, 1e10] {
            let expected = format!("usd is {amount}: must be between 0 and 1000000000");
            assert_eq!(refusal("usd", amount), expected);
        }
        assert_eq!(
            refusal("starts", 1.0),
            "starts is 1: must be omitted: each attempt is one start"
        );
        for name in ["", "US", "a b", "a-name-of-17-char", "é"] {
            assert!(
                refusal(name, 1.0).starts_with(&format!("unit is {name:?}: must have 1 to 16"))
            );
        }
        let many: Vec<String> = (0..=COST_UNITS_MAX)
            .map(|number| format!("u{number}"))
            .collect();
        let many = Cost::new(many.iter().map(|name| (name.as_str(), 1.0)));
        assert_eq!(many.unwrap_err().field, "units");
    }

    #[test]
    fn a_cost_is_read_as_it_was_stored() {
        let cost = Cost::new([("tokens", 1_800.0), ("usd", 0.02)]).unwrap();
        let stored = serde_json::to_string(&cost).unwrap();
        assert_eq!(stored, r#"{"tokens":1800000000,"usd":20000}"#);
        assert_eq!(serde_json::from_str::<Cost>(&stored).unwrap(), cost);
        assert_eq!(cost.amounts()["usd"], 0.02);
    }

    #[test]
    fn a_report_changes_the_units_that_it_names() {
        let cost = |tokens, usd| Cost::new([("tokens", tokens), ("usd", usd)]).unwrap();
        let reserved = cost(1_800.0, 0.02);
        let used = Cost::new([("tokens", 1_240.0), ("calls", 2.0)]).unwrap();
        let change = CostChange::of_report(Timestamp::EPOCH, &reserved, &used).unwrap();
        let by = |unit| change.millionths(Unit::new(unit).unwrap());
        assert_eq!(
            (by("tokens"), by("usd"), by("calls")),
            (-560 * ONE, 0, 2 * ONE)
        );
        let same = CostChange::of_report(Timestamp::EPOCH, &reserved, &reserved);
        assert_eq!(same, None);
        let all = CostChange::of_all(Timestamp::EPOCH, &reserved).unwrap();
        assert_eq!(all.millionths(Unit::new("usd").unwrap()), -20_000);
        assert_eq!(all.millionths(Unit::STARTS), 0);
    }
}
