//! Events as they happen: a response without an end, read as server-sent events.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use hyper::body::{Body as _, Incoming};
use steadfast_api::{JobEventBody, TenantQuery};
use tokio::time::{Instant, Sleep, sleep};

use crate::{
    client::Client,
    error::{ClientError, ErrorKind},
    limits::{EVENT_BYTES_MAX, EVENT_SILENCE_MAX},
};

const OPERATION: &str = "streamEvents";

/// An event of a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The type of the event, such as `job.retrying`.
    pub name: String,
    /// The job, and the details of the event.
    pub data: JobEventBody,
}

/// Events as they happen, until the server stops or the stream is dropped.
///
/// It ends with an error if the connection breaks or is silent for a minute.
pub struct EventStream {
    body: Incoming,
    parser: EventParser,
    silence: Pin<Box<Sleep>>,
    has_ended: bool,
}

impl Client {
    /// Events of the jobs that run on this node, from now on. Events are not kept: a caller who
    /// must not miss one uses webhooks or the history.
    ///
    /// # Errors
    ///
    /// A stream that cannot be opened.
    pub async fn stream_events(&self, query: &TenantQuery) -> Result<EventStream, ClientError> {
        let request = self.get::<()>(OPERATION, "/events").query(query);
        Ok(EventStream {
            body: request.stream().await?,
            parser: EventParser::default(),
            silence: Box::pin(sleep(EVENT_SILENCE_MAX)),
            has_ended: false,
        })
    }
}

impl EventStream {
    /// The next event; `None` when the server has ended the stream.
    pub async fn next(&mut self) -> Option<Result<Event, ClientError>> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, ClientError>>> {
        loop {
            if let Some(event) = self.parser.next() {
                return Poll::Ready(Some(event));
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

    fn fail(&mut self, kind: ErrorKind) -> Poll<Option<Result<Event, ClientError>>> {
        self.has_ended = true;
        Poll::Ready(Some(Err(ClientError::new(OPERATION, kind))))
    }
}

impl Stream for EventStream {
    type Item = Result<Event, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(context)
    }
}

impl fmt::Debug for EventStream {
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
    /// The next whole event of the buffer.
    fn next(&mut self) -> Option<Result<Event, ClientError>> {
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
                    return Some(parse(name, &data));
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

fn parse(name: String, data: &str) -> Result<Event, ClientError> {
    let data = serde_json::from_str(data)
        .map_err(|error| ClientError::new(OPERATION, ErrorKind::Decode(error)))?;
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
                    names.push(event.unwrap().name);
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
        assert_eq!(parser.next().unwrap().unwrap().data.attempt, 1);
        let error = parser.next().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error:?}");
        assert!(!error.is_transient());
        assert!(parser.next().is_none());
    }
}
