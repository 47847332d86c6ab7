//! Where the log goes, and in what form.
//!
//! Much of what is logged comes from outside: the failure of a job is whatever text its target or
//! its worker sends. A line break in it would forge a log line, and an escape sequence would reach
//! the reader's terminal, so in text every control character is escaped, and so are the marks that
//! change the direction of text and make a line read differently than it is. JSON does the former
//! by itself, and is for programs.

use std::{
    fmt::{self, Debug, Write as _},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use anyhow::anyhow;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    field::MakeExt as _,
    filter::ParseError,
    fmt::format::{Writer, debug_fn},
    layer::{Context, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use super::repeats::Repeats;

use crate::{
    output::{self, is_direction_mark},
    settings::{LogFormat, LogSettings},
};

pub fn start(settings: &LogSettings) -> anyhow::Result<()> {
    let filter = filter(&settings.level)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    let started = match settings.format {
        LogFormat::Text => subscriber
            .with_target(false)
            .with_ansi(output::has_colours())
            .fmt_fields(debug_fn(write_field).delimited(" "))
            .finish()
            .with(StoreErrorLimiter::default())
            .try_init(),
        LogFormat::Json => subscriber
            .json()
            .flatten_event(true)
            .finish()
            .with(StoreErrorLimiter::default())
            .try_init(),
    };
    started.map_err(|error| anyhow!("cannot start the log: {error}"))
}

/// What is logged. PostgreSQL has notices about each migration that changes nothing; `level` may ask
/// for them by name.
fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::try_new(format!("tokio_postgres=warn,{level}"))
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{field}=")?;
    }
    let mut escaping = EscapingWriter(writer);
    write!(escaping, "{value:?}")
}

/// Escapes control characters.
struct EscapingWriter<'w, W>(&'w mut W);

impl<W: fmt::Write> fmt::Write for EscapingWriter<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if c.is_control() || is_direction_mark(c) {
                write!(self.0, "{}", c.escape_default())?;
            } else {
                self.0.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// While the store is unavailable every role and request gets the same error, so the log repeats
/// each cause only occasionally.
#[derive(Default)]
struct StoreErrorLimiter(Mutex<Repeats>);

impl<S: Subscriber> Layer<S> for StoreErrorLimiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::WARN {
            return true;
        }
        let mut error = ErrorField::default();
        event.record(&mut error);
        let Some(cause) = store_cause(event.metadata().target(), &error.0) else {
            return true;
        };
        let mut repeats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        repeats.is_due(cause, Instant::now())
    }
}

/// The field `error` of an event.
#[derive(Default)]
struct ErrorField(String);

impl Visit for ErrorField {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "error" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Why the store is unavailable, without the operation that failed.
fn store_cause<'e>(target: &str, error: &'e str) -> Option<&'e str> {
    if target.starts_with("steadfast_store::postgres") && !error.is_empty() {
        return Some(error);
    }
    let (_, cause) = error
        .strip_prefix("the store is unavailable (")?
        .split_once("): ")?;
    Some(cause)
}

#[cfg(test)]
mod tests {
    use steadfast::store::StoreError;

    use super::*;

    #[test]
    fn an_error_of_the_store_is_known_by_its_cause() {
        for operation in ["claim", "renew"] {
            let error = StoreError::unavailable(operation, "connection refused (os error 111)");
            let cause = "connection refused (os error 111)";
            let error = error.to_string();
            assert_eq!(store_cause("steadfast_engine::role", &error), Some(cause));
            let listener = "steadfast_store::postgres::listen";
            assert_eq!(store_cause(listener, cause), Some(cause));
        }
        let broken = StoreError::broken("claim", "no such table").to_string();
        assert_eq!(store_cause("steadfast_engine::role", &broken), None);
        assert_eq!(store_cause("steadfast_engine::settle", "HTTP 500"), None);
    }

    #[test]
    fn notices_of_postgresql_are_logged_only_if_asked_for() {
        let written = |level| filter(level).unwrap().to_string();
        assert!(written("info").contains("tokio_postgres=warn"));
        let asked = written("info,tokio_postgres=debug");
        assert!(asked.contains("tokio_postgres=debug") && !asked.contains("=warn"));
    }

    #[test]
    fn what_would_forge_a_line_or_turn_it_around_is_escaped() {
        let mut line = String::new();
        let text = "a\nb\u{1b}[31m \u{202e}c\u{2066} é 漢";
        EscapingWriter(&mut line).write_str(text).unwrap();
        assert_eq!(line, r"a\nb\u{1b}[31m \u{202e}c\u{2066} é 漢");
    }
}
