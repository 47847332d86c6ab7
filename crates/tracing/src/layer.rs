//! The layer, which a program adds to its subscriber.

use std::fmt::{self, Write as _};

use steadfast_core::LogLevel;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

use crate::{AttemptLogger, CURRENT};

/// Adds the events of handlers to the logs of their attempts: the message, then the fields.
///
/// Events more verbose than [`Level::INFO`] are left out, unless [`AttemptLogLayer::with_level`]
/// asks for them; an attempt keeps its newest 1,000 lines, which a chatty library soon fills.
///
/// ```
/// use steadfast_tracing::AttemptLogLayer;
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(AttemptLogLayer::default());
/// # drop(subscriber);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AttemptLogLayer {
    level: Level,
}

impl Default for AttemptLogLayer {
    fn default() -> Self {
        Self { level: Level::INFO }
    }
}

impl AttemptLogLayer {
    /// Events of this level and more important ones are logged.
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { level }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for AttemptLogLayer {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let (Some(logger), Some(span)) = (current(), context.span(id)) {
            span.extensions_mut().replace(logger);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if *event.metadata().level() > self.level {
            return;
        }
        let of_span = context
            .event_scope(event)
            .and_then(|mut scope| scope.find_map(|span| span.extensions().get().cloned()));
        let Some(logger) = of_span.or_else(current) else {
            return;
        };
        let mut line = EventLine::default();
        event.record(&mut line);
        if let AttemptLogger(Some(add_line)) = logger {
            add_line(level(*event.metadata().level()), line.text());
        }
    }
}

fn current() -> Option<AttemptLogger> {
    CURRENT.with(|current| current.try_borrow().ok()?.clone())
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        _ => LogLevel::Debug,
    }
}

/// An event as one line: `importing file="orders.csv" rows=3`.
#[derive(Default)]
struct EventLine {
    message: String,
    fields: String,
}

impl EventLine {
    fn text(self) -> String {
        match (self.message.as_str(), self.fields.as_str()) {
            (_, "") => self.message,
            ("", fields) => fields.trim_start().to_owned(),
            (message, fields) => format!("{message}{fields}"),
        }
    }

    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        // A text takes all that is written to it.
        let _ = match field.name() {
            "message" => self.message.write_fmt(value),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}

impl Visit for EventLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, format_args!("{value}"));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        task::{self, Poll},
    };

    use tracing::{Instrument as _, Span, debug, error, info, info_span, warn};
    use tracing_subscriber::prelude::*;

    use super::*;

    type Lines = Arc<Mutex<Vec<(LogLevel, String)>>>;

    fn logger() -> (AttemptLogger, Lines) {
        let lines = Lines::default();
        let written = lines.clone();
        let logger = AttemptLogger::new(move |level, text| {
            written.lock().unwrap().push((level, text));
        });
        (logger, lines)
    }

    fn texts(lines: &Lines) -> Vec<String> {
        let lines = lines.lock().unwrap();
        lines.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Polls a future to its end; none of these waits.
    fn finish<T>(work: impl Future<Output = T>) -> T {
        let mut context = task::Context::from_waker(task::Waker::noop());
        match std::pin::pin!(work).poll(&mut context) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn events_of_a_handler_are_lines_with_their_fields() {
        let subscriber = tracing_subscriber::registry().with(AttemptLogLayer::default());
        tracing::subscriber::with_default(subscriber, || {
            let (logger, lines) = logger();
            info!("before");
            finish(logger.scope(async {
                info!(file = "orders.csv", rows = 3, "importing {}", 1);
                warn!(reason = %"slow");
                let cause = std::io::Error::other("no disk");
                error!(error = &cause as &dyn std::error::Error, "failed");
                debug!("too much");
            }));
            info!("after");
            let expected = [
                (LogLevel::Info, r#"importing 1 file="orders.csv" rows=3"#),
                (LogLevel::Warn, "reason=slow"),
                (LogLevel::Error, "failed error=no disk"),
            ];
            let expected = expected.map(|(level, text)| (level, text.to_owned()));
            assert_eq!(*lines.lock().unwrap(), expected);
        });
    }

    #[test]
    fn a_span_takes_its_log_to_other_threads_and_attempts_do_not_mix() {
        let layer = AttemptLogLayer::default().with_level(Level::DEBUG);
        let subscriber = tracing_subscriber::registry().with(layer);
        let dispatch = tracing::Dispatch::new(subscriber);
        tracing::dispatcher::with_default(&dispatch, || {
            let ((one, of_one), (other, of_other)) = (logger(), logger());
            let span = finish(one.scope(async { info_span!("import") }));
            let on_thread = {
                let (span, dispatch) = (span.clone(), dispatch.clone());
                move || {
                    tracing::dispatcher::with_default(&dispatch, || {
                        span.in_scope(|| debug!("on a thread"));
                        debug!("outside");
                    });
                }
            };
            std::thread::spawn(on_thread).join().unwrap();
            // What one attempt hands to another still belongs to the first.
            finish(other.scope(async {
                info!("own");
                async { info!("of the first") }.instrument(span).await;
                let inner = info_span!(parent: Span::none(), "inner");
                inner.in_scope(|| info!("own again"));
            }));
            assert_eq!(texts(&of_one), ["on a thread", "of the first"]);
            assert_eq!(texts(&of_other), ["own", "own again"]);
        });
    }

    #[test]
    fn a_handler_that_panics_leaves_no_log_behind() {
        let subscriber = tracing_subscriber::registry().with(AttemptLogLayer::default());
        tracing::subscriber::with_default(subscriber, || {
            let (logger, lines) = logger();
            let panics = || logger.enter(|| panic!("no"));
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
            assert!(panicked.is_err());
            info!("of another");
            assert!(texts(&lines).is_empty());
        });
    }
}
