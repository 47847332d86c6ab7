//! Numbers on the command line, and the errors for invalid ones.

use std::{
    error::Error,
    num::{IntErrorKind, ParseFloatError, ParseIntError},
    str::FromStr,
};

use clap::error::{ContextKind, ErrorKind};

/// A number with a fraction. Rust reads `nan` and `inf` as well, which JSON would write as `null`.
#[derive(Clone, Copy)]
pub struct Number(pub f64);

#[derive(Debug, thiserror::Error)]
#[error("must be a number, e.g. 0.2")]
pub struct NotNumber;

impl FromStr for Number {
    type Err = NotNumber;

    fn from_str(text: &str) -> Result<Self, NotNumber> {
        let number: Result<f64, ParseFloatError> = text.parse();
        match number {
            Ok(number) if number.is_finite() => Ok(Self(number)),
            Ok(_) | Err(_) => Err(NotNumber),
        }
    }
}

/// As the library writes the range of an option without one.
const ALL_OF_U32: &str = "is not in 0..=4294967295";

/// The expected value, where the library only says how parsing failed.
pub fn expected(error: &(dyn Error + 'static)) -> Option<&'static str> {
    // A range that only says how many bits a number has says nothing to a person.
    if error.to_string().contains(ALL_OF_U32) {
        return Some("is too large");
    }
    let error = error.downcast_ref::<ParseIntError>()?;
    Some(match error.kind() {
        IntErrorKind::Zero => "must be at least 1",
        IntErrorKind::PosOverflow => "is too large",
        _ => "must be a whole number",
    })
}

/// A refusal of the command line in words that say what to write.
pub fn describe(error: clap::Error, command: &mut clap::Command) -> clap::Error {
    let Some(expected) = error.source().and_then(expected) else {
        return error;
    };
    let part = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (value, arg) = (
        part(ContextKind::InvalidValue),
        part(ContextKind::InvalidArg),
    );
    let expected = match value.starts_with('-') {
        true => "must be a whole number, 0 or more",
        false => expected,
    };
    let message = format!("invalid value '{value}' for '{arg}': {expected}\n");
    clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
}

/// Treats -1 as a value, which the option or the server refuses, and not as an unknown option.
pub fn allow_negative(command: clap::Command) -> clap::Command {
    command
        .allow_negative_numbers(true)
        .mut_subcommands(allow_negative)
}
