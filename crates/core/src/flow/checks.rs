//! Checks of numbers that people set.

use crate::values::Invalid;

pub(super) fn in_range(field: &str, value: i64, least: u32, most: u32) -> Result<u32, Invalid> {
    let number = u32::try_from(value).ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| Invalid::new(field, value, format!("must be between {least} and {most}")))
}
