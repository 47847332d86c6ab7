//! Checks of numbers and durations that people set.

use std::{ops::RangeInclusive, time::Duration};

use crate::values::{Invalid, duration};

pub(super) fn in_range(field: &str, value: i64, least: u32, most: u32) -> Result<u32, Invalid> {
    let number = u32::try_from(value).ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| Invalid::new(field, value, format!("must be between {least} and {most}")))
}

pub(super) fn check_duration(
    field: &str,
    value: Duration,
    range: RangeInclusive<Duration>,
) -> Result<(), Invalid> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let (least, most) = (duration::format(least), duration::format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new(field, duration::format(value), expected))
}
