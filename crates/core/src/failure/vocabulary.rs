//! Words that mean something beside a number or a quoted value.

/// Units: with them or without, as a word or in the number, an amount is an amount.
const UNITS: &[&str] = &[
    "ns",
    "us",
    "µs",
    "μs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hour",
    "hours",
    "d",
    "day",
    "days",
    "millisecond",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "b",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "byte",
    "bytes",
    "kilobytes",
    "megabytes",
];

/// Counted nouns, singular and plural.
const COUNTED: &[(&str, &str)] = &[
    ("argument", "arguments"),
    ("attempt", "attempts"),
    ("character", "characters"),
    ("connection", "connections"),
    ("entry", "entries"),
    ("error", "errors"),
    ("failure", "failures"),
    ("field", "fields"),
    ("file", "files"),
    ("item", "items"),
    ("job", "jobs"),
    ("message", "messages"),
    ("record", "records"),
    ("request", "requests"),
    ("retry", "retries"),
    ("row", "rows"),
    ("time", "times"),
    ("token", "tokens"),
    ("try", "tries"),
    ("value", "values"),
];

/// Names of months and days, which are part of a time if a number is beside them.
const DATES: &[&str] = &[
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
    "January",
    "February",
    "March",
    "April",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// A number of up to three digits after these tells failures apart: `status 404`, `signal 9`.
const STATUSES: &[&str] = &["code", "http", "signal", "status", "statuscode"];

/// A quoted name after these is one of the program's own, not a value.
const NAMED: &[&str] = &[
    "attribute",
    "class",
    "column",
    "constraint",
    "field",
    "function",
    "index",
    "method",
    "module",
    "package",
    "parameter",
    "property",
    "reading",
    "relation",
    "schema",
    "table",
    "type",
    "variable",
];

/// Parts of the keys under which JSON says what is wrong.
const TELLING: &[&str] = &[
    "cause",
    "code",
    "desc",
    "detail",
    "err",
    "exception",
    "fault",
    "message",
    "msg",
    "reason",
    "status",
    "title",
    "type",
];

/// Ends of the names of error types, which may have digits in them.
const ERROR_TYPES: &[&str] = &["Error", "Exception", "Failure", "Fault"];

pub fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(word))
}

/// One of what is counted; any other word as it is.
pub fn singular(word: &str) -> &str {
    let pair = COUNTED.iter().find(|(_, many)| *many == word);
    pair.map_or(word, |(one, _)| one)
}

pub fn is_date(word: &str) -> bool {
    DATES.contains(&word)
}

pub fn is_before_status(word: &str) -> bool {
    STATUSES
        .iter()
        .any(|status| status.eq_ignore_ascii_case(word))
}

pub fn is_before_name(word: &str) -> bool {
    NAMED.iter().any(|named| named.eq_ignore_ascii_case(word))
}

pub fn is_telling(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    TELLING.iter().any(|part| key.contains(part))
}

pub fn is_error_type(word: &str) -> bool {
    ERROR_TYPES.iter().any(|end| word.ends_with(end))
}
