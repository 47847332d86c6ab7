//! Messages: published to an address or a URL group, enqueued, or many at once.

use std::collections::HashMap;

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri},
};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use steadfast_core::{JobId, Payload, Timestamp, limits::BULK_JOBS_MAX};
use steadfast_engine::{
    ClientError, CreateResult, JobRequest,
    http::{HTTP_KIND, HttpRequest, qstash::QstashMessage},
};
use steadfast_store::{EnqueueError, JobFilter, PageRequest};

use super::{
    AnyBody, Door, Reply,
    documents::{GroupEndpoint, UrlGroup},
    flow_control,
    options::{Options, refuse},
    queues,
};
use crate::{
    api::work::job_search::find_page,
    http::{Json, Problem},
    limits,
};

/// The tag of messages of a URL group, and of those whose repetitions are recognised.
pub const GROUP_TAG: &str = "qstash url group";
const DEDUPLICATION_TAG: &str = "qstash deduplication";

pub async fn publish(door: Door, uri: Uri, headers: HeaderMap, body: AnyBody) -> Reply {
    let draft = Draft {
        destination: destination(&uri, "/v2/publish/")?,
        options: Options::read(&headers)?,
        body: body.0,
        queue: None,
    };
    one(door.create(vec![draft]).await?)
}

pub async fn enqueue(
    door: Door,
    Path((queue, _)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
    body: AnyBody,
) -> Reply {
    let draft = Draft {
        destination: destination(&uri, "/v2/enqueue/")?
            .split_once('/')
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default(),
        options: Options::read(&headers)?,
        body: body.0,
        queue: Some(queue),
    };
    one(door.create(vec![draft]).await?)
}

/// A message of a batch.
#[derive(Deserialize)]
struct BatchEntry {
    destination: String,
    #[serde(default)]
    headers: HashMap<String, String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    queue: Option<String>,
}

/// All messages are created, or none.
pub async fn batch(door: Door, body: AnyBody) -> Reply {
    let entries: Vec<BatchEntry> = body.json()?;
    let drafts = entries.into_iter().enumerate().map(|(index, entry)| {
        let mut headers = HeaderMap::new();
        for (name, value) in &entry.headers {
            let name = HeaderName::try_from(name.as_str());
            let value = HeaderValue::try_from(value.as_str());
            let (Ok(name), Ok(value)) = (name, value) else {
                let detail = format!("message {index} has a header that cannot be sent");
                return Err(Problem::invalid("headers", detail));
            };
            headers.insert(name, value);
        }
        Ok(Draft {
            destination: entry.destination,
            options: Options::read(&headers)?,
            body: entry.body.unwrap_or_default().into(),
            queue: entry.queue,
        })
    });
    let drafts = drafts.collect::<Result<Vec<_>, Problem>>()?;
    Ok(Json(Value::Array(door.create(drafts).await?)))
}

fn one(answers: Vec<Value>) -> Reply {
    Ok(Json(answers.into_iter().next().unwrap_or_default()))
}

/// The destination in a path. Its own query is that of the request; some clients encode it.
pub fn destination(uri: &Uri, before: &str) -> Result<String, Problem> {
    let path = uri.path();
    let at = path.find(before).map_or(path.len(), |at| at + before.len());
    let mut text = path[at..].to_owned();
    if let Some(query) = uri.query() {
        text = format!("{text}?{query}");
    }
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("http%3a") || lower.starts_with("https%3a") {
        text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
    }
    Ok(text)
}

/// A message as it was asked for.
pub struct Draft {
    pub destination: String,
    pub options: Options,
    pub body: Bytes,
    pub queue: Option<String>,
}

/// One job of a draft, and how a repetition of it is recognised.
struct PreparedMessage {
    draft: usize,
    url: String,
    request: JobRequest,
    deduplication: Option<String>,
}

/// What became of a job.
#[derive(Clone, Copy)]
struct PublishedMessage {
    id: JobId,
    is_duplicate: bool,
}

impl Door {
    /// Creates the messages of all drafts in one transaction; the answers are in their order.
    async fn create(&self, drafts: Vec<Draft>) -> Result<Vec<Value>, Problem> {
        let now = self.app.client.now();
        let (mut prepared, mut is_group) = (Vec::new(), Vec::new());
        for (index, draft) in drafts.iter().enumerate() {
            draft.check()?;
            let targets = self.targets(&draft.destination).await?;
            is_group.push(targets.is_group);
            let concurrency = self.prepare_limits(draft).await?;
            for endpoint in &targets.endpoints {
                let group = targets.is_group.then_some(draft.destination.as_str());
                let mut request = draft.job(&self.app, group, endpoint, now)?;
                if let Some(key) = &concurrency {
                    request = request.concurrency_key(key);
                }
                prepared.push(PreparedMessage {
                    draft: index,
                    url: endpoint.url.clone(),
                    request: request.tenant(self.tenant.as_str()),
                    deduplication: draft.deduplication_key(&endpoint.url),
                });
            }
        }
        if prepared.len() > BULK_JOBS_MAX {
            let detail = format!("these are more than {BULK_JOBS_MAX} messages");
            return Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                detail,
            ));
        }
        let published = self.store_all(&prepared, now).await?;
        let answer = |prepared: &PreparedMessage, published: &PublishedMessage| {
            let mut answer = json!({"messageId": published.id, "url": prepared.url});
            if published.is_duplicate {
                answer["deduplicated"] = true.into();
            }
            answer
        };
        let answers = prepared.iter().zip(&published);
        let answers: Vec<(usize, Value)> = answers
            .map(|(prepared, published)| (prepared.draft, answer(prepared, published)))
            .collect();
        let of_draft = |(index, is_group): (usize, &bool)| {
            let own = answers.iter().filter(|(draft, _)| *draft == index);
            let mut own = own.map(|(_, answer)| answer.clone());
            match is_group {
                true => Value::Array(own.collect()),
                false => own.next().unwrap_or_default(),
            }
        };
        Ok(is_group.iter().enumerate().map(of_draft).collect())
    }

    /// The gate of a draft's queue or flow control key, and the concurrency key that leads to it.
    pub async fn prepare_limits(&self, draft: &Draft) -> Result<Option<String>, Problem> {
        match (&draft.queue, &draft.options.flow_control) {
            (Some(_), Some(_)) => {
                let detail = "Upstash-Flow-Control-Key is not supported for a queue, which has \
                              limits of its own";
                Err(Problem::invalid("Upstash-Flow-Control-Key", detail))
            }
            (Some(queue), None) => Ok(Some(queues::ensure(self, queue).await?)),
            (None, Some(flow)) => Ok(Some(flow_control::ensure(self, flow).await?)),
            (None, None) => Ok(None),
        }
    }

    async fn targets(&self, destination: &str) -> Result<Targets, Problem> {
        if destination.contains("://") {
            let endpoint = GroupEndpoint {
                url: destination.to_owned(),
                name: None,
            };
            return Ok(Targets {
                is_group: false,
                endpoints: vec![endpoint],
            });
        }
        if destination.starts_with("api/") {
            let detail = format!("{destination} is not supported: publish to the URL of that API");
            return Err(Problem::invalid("destination", detail));
        }
        let group = self.find::<UrlGroup>(destination).await?;
        let group = group.ok_or_else(|| {
            let detail = format!(
                "{:?} is neither a URL (http:// or https://) nor a url group",
                crate::extract::body::shorten_id(destination)
            );
            Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
        })?;
        Ok(Targets {
            is_group: true,
            endpoints: group.endpoints,
        })
    }

    /// Stores what is no repetition. A message of the last minutes is found by its tag; of two at
    /// the same moment, the key lets one through.
    async fn store_all(
        &self,
        prepared: &[PreparedMessage],
        now: Timestamp,
    ) -> Result<Vec<PublishedMessage>, Problem> {
        let mut results: Vec<Option<PublishedMessage>> = vec![None; prepared.len()];
        // Those that repeat another of the same request, by index.
        let mut repeats: Vec<Option<usize>> = vec![None; prepared.len()];
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        for (index, message) in prepared.iter().enumerate() {
            let Some(key) = &message.deduplication else {
                continue;
            };
            if let Some(first) = first_of.get(key.as_str()) {
                repeats[index] = Some(*first);
                continue;
            }
            first_of.insert(key, index);
            let id = self.recent(key, now).await?;
            results[index] = id.map(|id| PublishedMessage {
                id,
                is_duplicate: true,
            });
        }
        loop {
            let left = |index: &usize| results[*index].is_none() && repeats[*index].is_none();
            let left: Vec<usize> = (0..prepared.len()).filter(left).collect();
            if left.is_empty() {
                break;
            }
            let requests = left.iter().map(|index| prepared[*index].keyed(now));
            let requests: Vec<JobRequest> = requests.collect();
            match self.app.client.create_all(requests).await {
                Ok(created) => {
                    for (index, created) in left.iter().zip(created) {
                        let is_duplicate = !matches!(created, CreateResult::New(_));
                        let id = created.job().id;
                        results[*index] = Some(PublishedMessage { id, is_duplicate });
                    }
                    break;
                }
                // Another request with other content has just used this key.
                Err(ClientError::Enqueue(EnqueueError::Conflict { index, job, .. }))
                    if index < left.len() =>
                {
                    let id = job;
                    results[left[index]] = Some(PublishedMessage {
                        id,
                        is_duplicate: true,
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        let of = |index: usize| match repeats[index] {
            Some(first) => results[first].map(|it| PublishedMessage {
                is_duplicate: true,
                ..it
            }),
            None => results[index],
        };
        let all: Option<Vec<PublishedMessage>> = (0..prepared.len()).map(of).collect();
        all.ok_or_else(|| Problem::internal(&"a message was not stored"))
    }

    /// The message with this key, if it was created within the window.
    async fn recent(&self, key: &str, now: Timestamp) -> Result<Option<JobId>, Problem> {
        let filter = JobFilter {
            tenant: Some(self.tenant.clone()),
            created_from: Some(now.minus(limits::QSTASH_DEDUPLICATION_WINDOW)),
            tags: vec![steadfast_core::tag_text(DEDUPLICATION_TAG, key)],
            ..JobFilter::default()
        };
        let page = PageRequest::first(1);
        let found = find_page(&self.app.client, filter, page, limits::LIST_TIME_MAX).await?;
        Ok(found.items.first().map(|job| job.id))
    }
}

struct Targets {
    is_group: bool,
    endpoints: Vec<GroupEndpoint>,
}

impl PreparedMessage {
    /// The request with the key of this window.
    fn keyed(&self, now: Timestamp) -> JobRequest {
        let Some(key) = &self.deduplication else {
            return self.request.clone();
        };
        let window = now.as_micros() / limits::QSTASH_DEDUPLICATION_WINDOW_MICROS;
        self.request
            .clone()
            .idempotency_key(format!("qstash {key} {window}"))
            .tag(DEDUPLICATION_TAG, key)
    }
}

impl Draft {
    fn check(&self) -> Result<(), Problem> {
        let Options {
            cron,
            schedule_id,
            queue,
            delay,
            not_before,
            ..
        } = &self.options;
        let of_schedules = [
            ("Upstash-Cron", cron.is_some()),
            ("Upstash-Schedule-Id", schedule_id.is_some()),
            ("Upstash-Queue-Name", queue.is_some()),
        ];
        refuse(&of_schedules, "here: it is for schedules")?;
        let both = [(
            "Upstash-Not-Before",
            not_before.is_some() && delay.is_some(),
        )];
        refuse(&both, "together with Upstash-Delay")
    }

    /// Tells this message apart from all others, if repetitions of it are to be recognised.
    fn deduplication_key(&self, url: &str) -> Option<String> {
        let Options {
            deduplication_id,
            content_based_deduplication,
            method,
            headers,
            ..
        } = &self.options;
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        match deduplication_id {
            Some(id) => add(id.as_bytes()),
            None if *content_based_deduplication => {
                add(method.as_deref().unwrap_or("POST").as_bytes());
                add(&self.body);
                for (name, value) in headers {
                    add(name.as_bytes());
                    add(value.as_bytes());
                }
            }
            None => return None,
        }
        add(self.queue.as_deref().unwrap_or_default().as_bytes());
        add(url.as_bytes());
        let digest = hash.finalize();
        Some(
            digest[..16]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    /// The job of one address.
    pub fn job(
        &self,
        app: &crate::app::App,
        group: Option<&str>,
        endpoint: &GroupEndpoint,
        now: Timestamp,
    ) -> Result<JobRequest, Problem> {
        let options = &self.options;
        let millis = |time: Timestamp| time.as_micros() / 1_000;
        let message = QstashMessage {
            url_group: group.map(str::to_owned),
            endpoint: endpoint.name.clone(),
            queue: self.queue.clone(),
            schedule: options.schedule_id.clone(),
            labels: options.labels.clone(),
            retry_delay: options.retry_delay.clone(),
            flow_control: options.flow_control.clone(),
            callback: options.callback.clone(),
            failure_callback: options.failure_callback.clone(),
            not_before: match (options.delay, options.not_before) {
                (Some(delay), _) => Some(millis(now.plus(delay))),
                (None, Some(seconds)) => Some(seconds.saturating_mul(1_000)),
                (None, None) => None,
            },
            source: None,
        };
        let webhook = message.webhook();
        let request = self.request(&endpoint.url)?.with_message(message);
        let mut job = JobRequest::new(HTTP_KIND, Payload::encode(&request)?)
            .queue(match &self.queue {
                Some(queue) => queues::name(queue),
                None => QstashMessage::QUEUE.to_owned(),
            })
            .retry(options.policy()?)
            .tag(QstashMessage::TAG.0, QstashMessage::TAG.1);
        job = match options.timeout {
            Some(timeout) => job.timeout(timeout),
            None => job.default_timeout(app.settings.http_timeout),
        };
        if let Some(delay) = options.delay {
            job = job.delay(delay);
        } else if let Some(seconds) = options.not_before {
            job = job.run_at(Timestamp::from_micros(seconds.saturating_mul(1_000_000)));
        }
        if let Some(webhook) = webhook {
            job = job.webhook(webhook);
        }
        for label in &options.labels {
            job = job.tag(QstashMessage::label_tag(label), "");
        }
        if let Some(group) = group {
            job = job.tag(GROUP_TAG, group);
        }
        if let Some(flow) = &options.flow_control {
            job = job.tag(flow_control::FLOW_TAG, &flow.key);
        }
        Ok(job)
    }

    fn request(&self, url: &str) -> Result<HttpRequest, Problem> {
        let mut request = HttpRequest::new(url)?;
        if let Some(method) = &self.options.method {
            request = request.with_method(method)?;
        }
        let mut headers = self.options.headers.clone();
        if !self.body.is_empty() {
            let kind = match std::str::from_utf8(&self.body) {
                Ok(_) => "text/plain; charset=utf-8",
                Err(_) => "application/octet-stream",
            };
            headers
                .entry("content-type".to_owned())
                .or_insert_with(|| kind.to_owned());
        }
        for (name, value) in &headers {
            request = request.with_header(name, value)?;
        }
        Ok(match self.body.is_empty() {
            true => request,
            false => request.with_bytes(self.body.clone()),
        })
    }
}
