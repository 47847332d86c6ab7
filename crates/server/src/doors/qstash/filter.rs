//! Query strings of lists, and of commands on many messages.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Uri;
use steadfast_core::{Job, JobId, Queue, ScheduleName, Timestamp, tag_text};
use steadfast_engine::http::{HttpRequest, qstash::QstashMessage};
use steadfast_store::{JobFilter, JobPageRequest, Page, PageRequest};

use super::{Door, flow_control::FLOW_TAG, publish::GROUP_TAG, queues};
use crate::{api::work::job_search::find_page, http::Problem, limits};

/// What a query string asks for.
#[derive(Debug, Default)]
pub struct Filter {
    /// Messages by id, and nothing else.
    pub ids: Option<Vec<JobId>>,
    pub state: Option<String>,
    pub count: Option<usize>,
    urls: Vec<String>,
    hosts: Vec<String>,
    paths: Vec<String>,
    /// Tags of messages with one of several labels, URL groups or flow control keys: each list by
    /// the name of its parameter.
    tags: BTreeMap<String, Vec<String>>,
    after: Option<JobId>,
    schedule: Option<String>,
    jobs: JobFilter,
}

impl Filter {
    pub fn read(door: &Door, uri: &Uri) -> Result<Self, Problem> {
        let mut filter = Self::default();
        filter.jobs.tenant = Some(door.tenant.clone());
        let (name, value) = QstashMessage::TAG;
        filter.jobs.tags.push(tag_text(name, value));
        let query = uri.query().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            filter.set(&name, &value)?;
        }
        // An index finds the messages of one tag; those of several are chosen from all.
        let single = filter.tags.values().filter(|tags| tags.len() == 1);
        filter.jobs.tags.extend(single.flatten().cloned());
        Ok(filter)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let wrong = |expected: &str| Problem::invalid(name, format!("{name} must be {expected}"));
        let once = |is_given: bool| match is_given {
            true => Err(Problem::invalid(
                name,
                format!("{name} can be given once only"),
            )),
            false => Ok(()),
        };
        let time = || {
            let millis = value.parse::<i64>().ok();
            let millis = millis.and_then(|millis| millis.checked_mul(1_000));
            let micros = millis.ok_or_else(|| wrong("a time in milliseconds"))?;
            Ok::<_, Problem>(Timestamp::from_micros(micros))
        };
        match name {
            // An id that is none finds nothing.
            "messageId" | "messageIds" | "dlqIds" => {
                let ids = self.ids.get_or_insert_default();
                ids.extend(value.parse::<JobId>().ok());
                if ids.len() > limits::QSTASH_IDS_MAX {
                    let most = limits::QSTASH_IDS_MAX;
                    return Err(Problem::invalid(name, format!("at most {most} {name}")));
                }
            }
            "state" => self.state = Some(value.to_owned()),
            "count" => {
                let count = value.parse().ok().filter(|count| *count > 0);
                self.count = Some(count.ok_or_else(|| wrong("a number from 1 on"))?);
            }
            "cursor" if value.is_empty() => {}
            "cursor" => {
                let after = value.parse();
                self.after = Some(after.map_err(|_| wrong("the cursor of the page before"))?);
            }
            "url" => add(name, &mut self.urls, value)?,
            "host" => add(name, &mut self.hosts, value)?,
            "path" => add(name, &mut self.paths, value)?,
            "queueName" => {
                once(self.jobs.queue.is_some())?;
                self.jobs.queue = Some(Queue::new(&queues::name(value))?);
            }
            "scheduleId" => {
                once(self.schedule.is_some())?;
                self.schedule = Some(value.to_owned());
            }
            "topicName" | "flowControlKey" | "label" => {
                let tag = match name {
                    "topicName" => tag_text(GROUP_TAG, value),
                    "flowControlKey" => tag_text(FLOW_TAG, value),
                    _ => tag_text(&QstashMessage::label_tag(value), ""),
                };
                add(name, self.tags.entry(name.to_owned()).or_default(), &tag)?;
            }
            "responseStatus" => {
                let status = value.parse().map_err(|_| wrong("a status of HTTP"))?;
                self.jobs.failure_status = Some(status);
            }
            "fromDate" => self.jobs.created_from = Some(time()?),
            "toDate" => self.jobs.created_before = Some(time()?),
            _ => {
                let detail = format!("filtering by {name} is not supported (docs/qstash.md)");
                return Err(Problem::invalid(name, detail));
            }
        }
        Ok(())
    }

    pub fn only_dead_letters(mut self) -> Self {
        self.jobs.dead_letters = true;
        self
    }

    pub fn only_unfinished(mut self) -> Self {
        self.jobs.unfinished = true;
        self
    }

    /// A page of whole jobs, newest first, of at most `most`.
    pub async fn page(&self, door: &Door, most: usize) -> Result<Page<Job, JobId>, Problem> {
        let client = &door.app.client;
        if let Some(ids) = &self.ids {
            let jobs = client.jobs_of(ids.clone()).await?;
            let items = jobs
                .into_iter()
                .flatten()
                .filter(|job| self.is_meant(door, job));
            return Ok(Page {
                items: items.collect(),
                next: None,
            });
        }
        let mut jobs = self.jobs.clone();
        if let Some(name) = &self.schedule {
            let name = ScheduleName::new(name)?;
            let found = client
                .schedules_named(Some(door.tenant.clone()), name)
                .await?;
            let Some(schedule) = found.first() else {
                return Ok(Page {
                    items: Vec::new(),
                    next: None,
                });
            };
            jobs.schedule = Some(schedule.id);
        }
        let limit = self.count.unwrap_or(most).min(most);
        let mut found = Page {
            items: Vec::new(),
            next: self.after,
        };
        // What no index finds is chosen from several pages.
        for _ in 0..limits::QSTASH_PAGES_READ_MAX {
            let page: JobPageRequest = PageRequest {
                limit,
                after: found.next,
            };
            let read = find_page(client, jobs.clone(), page, limits::LIST_TIME_MAX).await?;
            let ids = read.items.iter().map(|job| job.id).collect();
            let whole = client.jobs_of(ids).await?.into_iter().flatten();
            found.items.extend(whole.filter(|job| self.has_target(job)));
            found.next = read.next;
            if found.next.is_none() || found.items.len() >= limit {
                break;
            }
        }
        if found.items.len() > limit {
            found.items.truncate(limit);
            found.next = found.items.last().map(|job| job.id);
        }
        Ok(found)
    }

    fn is_meant(&self, door: &Door, job: &Job) -> bool {
        let is_in_state = !self.jobs.dead_letters || job.is_dead_letter();
        let is_open = !self.jobs.unfinished || !job.progress.state.is_final();
        door.owns(job) && is_in_state && is_open && self.has_target(job)
    }

    /// Whether a message is for one of the addresses, and has one tag of each list.
    fn has_target(&self, job: &Job) -> bool {
        let own: BTreeSet<String> = job
            .tags
            .iter()
            .map(|(name, it)| tag_text(name, it))
            .collect();
        if !self
            .tags
            .values()
            .all(|any| any.iter().any(|tag| own.contains(tag)))
        {
            return false;
        }
        let targets = [&self.urls, &self.hosts, &self.paths];
        if targets.iter().all(|wanted| wanted.is_empty()) {
            return true;
        }
        job.payload.decode::<HttpRequest>().is_ok_and(|request| {
            let uri = request.url().parse::<Uri>().ok();
            let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
            let path = uri.as_ref().map_or("", Uri::path);
            let parts = [request.url(), host, path];
            let mut pairs = targets.iter().zip(parts);
            pairs.all(|(wanted, part)| wanted.is_empty() || wanted.iter().any(|it| it == part))
        })
    }
}

/// One more value of a parameter that may be given several times: any of them matches.
fn add(name: &str, values: &mut Vec<String>, value: &str) -> Result<(), Problem> {
    let most = limits::QSTASH_VALUES_MAX;
    if values.len() >= most {
        return Err(Problem::invalid(
            name,
            format!("at most {most} times {name}"),
        ));
    }
    values.push(value.to_owned());
    Ok(())
}

impl Door {
    /// Whether a job is a message of this tenant.
    pub fn owns(&self, job: &Job) -> bool {
        let (name, value) = QstashMessage::TAG;
        job.tenant == self.tenant && job.tags.get(name).is_some_and(|tag| tag == value)
    }

    /// A message of this tenant.
    pub async fn message(&self, id: &str) -> Result<Job, Problem> {
        let not_found = || {
            let id = crate::extract::body::shorten_id(id);
            Problem::not_found(format!("message {id}"))
        };
        let parsed: JobId = id.parse().map_err(|_| not_found())?;
        let found = self.app.client.job(parsed).await?;
        found.filter(|job| self.owns(job)).ok_or_else(not_found)
    }
}
