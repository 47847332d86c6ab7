//! Events as they happen: a response without an end, read as server-sent events.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use hyper::body::{Body as _, Incoming};
use serde::de::DeserializeOwned;
use steadfast_api::{JobEventBody, LogEventBody, LogQuery, TenantQuery};
use tokio::time::{Instant, Sleep, sleep};

use crate::{
    client::Client,
    error::{ClientError, ErrorKind},
    jobs::log_path,
    limits::{EVENT_BYTES_MAX, EVENT_SILENCE_MAX},
    request::Request,
};

/// An event of a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event<T = JobEventBody> {
    /// The type of the event, such as `job.retrying`.
    pub name: String,
    /// The job, and the details of the event.
    pub data: T,
}

/// Events as they happen, until the server stops or the stream is dropped.
///
/// It ends with an error if the connection breaks or is silent for a minute.
pub struct EventStream<T = JobEventBody> {
    operation: &'static str,
    body: Incoming,
    parser: EventParser,
    data: PhantomData<fn() -> T>,
    silence: Pin<Box<Sleep>>,
    has_ended: bool,
}

impl Client {
    /// The lines that an attempt logs, those that are stored already first, until it ends.
    ///
    /// # Errors
    ///
    /// A stream that cannot be opened.
    pub async fn follow_attempt_log(
        &self,
        id: impl fmt::Display,
        attempt: u32,
        from: u64,
    ) -> Result<EventStream<LogEventBody>, ClientError> {
        let query = LogQuery {
            from: Some(from),
            follow: Some(true),
        };
        let request = self.get::<()>("getAttemptLog", &log_path(id, attempt));
        EventStream::open("getAttemptLog", request.query(&query)).await
    }

    /// Events of jobs on all nodes, from now on. Events are not kept, and those of other nodes than the
    /// one that is asked begin about a second later: a caller who must not miss one uses webhooks or
    /// the history.
    ///
    /// # Errors
    ///
    /// A stream that cannot be opened.
    pub async fn stream_events(&self, query: &TenantQuery) -> Result<EventStream, ClientError> {
        let request = self.get::<()>("streamEvents", "/events").query(query);
        EventStream::open("streamEvents", request).await
    }
}

impl<T: DeserializeOwned> EventStream<T> {
    async fn open(operation: &'static str, request: Request<()>) -> Result<Self, ClientError> {
        Ok(Self {
            operation,
            body: request.stream().await?,
            parser: EventParser::default(),
            data: PhantomData,
            silence: Box::pin(sleep(EVENT_SILENCE_MAX)),
            has_ended: false,
        })
    }

    /// The next event; `None` when the server has ended the stream.
    pub async fn next(&mut self) -> Option<Result<Event<T>, ClientError>> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event<T>, ClientError>>> {
        loop {
            if let Some((name, data)) = self.parser.next() {
                return Poll::Ready(Some(parse(self.operation, name, &data)));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            if self.parser.buffer.len() > EVENT_BYTES_MAX {
                let error = format!("an event is longer than {EVENT_BYTES_MAX} bytes");
                return self.fail(ErrorKind::Interrupted(error.into()));
            }
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let deadline = Instant::now() + EVENT_SILENCE_MAX;
                    self.silence.as_mut().reset(deadline);
                    if let Ok(data) = frame.into_data() {
                        self.parser.buffer.extend_from_slice(&data);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    return self.fail(ErrorKind::Interrupted(error.into()));
                }
                Poll::Ready(None) => self.has_ended = true,
                Poll::Pending => {
                    ready!(self.silence.as_mut().poll(context));
                    return self.fail(ErrorKind::Timeout(EVENT_SILENCE_MAX));
                }
            }
        }
    }

    fn fail(&mut self, kind: ErrorKind) -> Poll<Option<Result<Event<T>, ClientError>>> {
        self.has_ended = true;
        Poll::Ready(Some(Err(ClientError::new(self.operation, kind))))
    }
}

impl<T: DeserializeOwned> Stream for EventStream<T> {
    type Item = Result<Event<T>, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(context)
    }
}

impl<T> fmt::Debug for EventStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

/// The part of the event stream format that the server uses: lines of `event:` and `data:`, an
/// empty line after each event, and comments that begin with a colon.
#[derive(Default)]
struct EventParser {
    buffer: Vec<u8>,
    name: String,
    data: String,
}

impl EventParser {
    /// The name and data of the next whole event of the buffer.
    fn next(&mut self) -> Option<(String, String)> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                let (name, data) = (
                    std::mem::take(&mut self.name),
                    std::mem::take(&mut self.data),
                );
                // A comment ends with an empty line, too.
                if !data.is_empty() {
                    return Some((name, data));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.name),
                "data" if self.data.is_empty() => value.clone_into(&mut self.data),
                "data" => self.data.extend(["\n", value]),
                _ => {}
            }
        }
        None
    }
}

fn parse<T: DeserializeOwned>(
    operation: &'static str,
    name: String,
    data: &str,
) -> Result<Event<T>, ClientError> {
    let data = serde_json::from_str(data)
        .map_err(|error| ClientError::new(operation, ErrorKind::Decode(error)))?;
    Ok(Event { name, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"{"jobId":"job_01900000000000000000000001","tenant":"default","queue":"default","kind":"http","attempt":1}"#;

    /// Every cut of the same bytes gives the same events.
    #[test]
    fn events_are_read_wherever_the_network_cuts_them() {
        let text = format!(
            ": hello\n\nevent: job.started\ndata: {DATA}\n\n:\n\nevent:job.succeeded\r\ndata:{DATA}\r\n\r\n"
        );
        for size in 1..text.len() {
            let mut parser = EventParser::default();
            let mut names = Vec::new();
            for part in text.as_bytes().chunks(size) {
                parser.buffer.extend_from_slice(part);
                while let Some(event) = parser.next() {
                    names.push(event.0);
                }
            }
            assert_eq!(
                names,
                ["job.started", "job.succeeded"],
                "in parts of {size}"
            );
        }
    }

    #[test]
    fn data_of_several_lines_is_one_event_and_other_data_is_an_error() {
        let mut parser = EventParser::default();
        let (first, second) = DATA.split_at(1);
        parser.buffer.extend(
            format!("event: job.started\ndata: {first}\ndata: {second}\n\ndata: 7\n\n").bytes(),
        );
        let mut next = || {
            let (name, data) = parser.next().unwrap();
            parse::<JobEventBody>("streamEvents", name, &data)
        };
        assert_eq!(next().unwrap().data.attempt, 1);
        let error = next().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error:?}");
        assert!(!error.is_transient());
        assert!(parser.next().is_none());
    }
}
