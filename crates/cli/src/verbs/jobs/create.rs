//! `steadfast jobs create`.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};
use steadfast_api::{
    CreateJobRequest, CreateResult, HttpTargetRequest, JobBody, JobReference, WebhookRequest,
};
use steadfast_core::{
    BatchId, ConfirmSettings, ConflictAction, ExpiryAction, Guarantee, JobId, JobLabel, OnFailure,
    StartBefore, Timestamp, Unique, UniqueKey, UniqueResult, UniqueScope,
};

use super::watch;
use crate::{
    exit::usage,
    numbers::Number,
    output::print_line,
    server_args::{Server, print_json},
    settings::{DurationArg, RetryArg},
    show::{moment, now, quantity},
    verbs::{headers::HeaderArgs, parse_pairs, read_json, read_optional_json},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast jobs create https://example.com/hook --body '{\"order\": 7}' --watch\n  steadfast jobs create https://example.com/hook --retry patient --delay 10m\n  steadfast jobs create --kind resize --payload '{\"image\": 1}' --queue images\n  steadfast jobs create --from job.json\n  steadfast jobs create --from job_… --payload '{\"image\": 2}'\n  echo '{\"api\": \"https://example.com/\", \"maxRetryCount\": 3}' | steadfast jobs create --from -"
)]
pub struct Args {
    /// URL of an HTTP job.
    #[arg(value_name = "URL", conflicts_with_all = ["kind", "payload", "from"])]
    target: Option<String>,
    /// Method of an HTTP job [default: POST].
    #[arg(long)]
    method: Option<String>,
    #[command(flatten)]
    headers: HeaderArgs,
    /// Body of an HTTP job: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    body: Option<String>,
    /// Kind of the job, which selects its handler or worker.
    #[arg(long)]
    kind: Option<String>,
    /// Input for the handler or worker: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Id of a job to copy, or a file (or - for standard input) with the full API request. Other
    /// options override its fields.
    #[arg(long, value_name = "JOB|FILE", conflicts_with = "kind")]
    from: Option<String>,
    /// Queue [default: default].
    #[arg(long)]
    queue: Option<String>,
    /// Create it for this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Priority from 0 to 9, higher first [default: 5].
    #[arg(long)]
    priority: Option<u8>,
    /// Run after this delay.
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    delay: Option<DurationArg>,
    /// Run at this time, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    run_at: Option<Timestamp>,
    /// Start at most once; never retry.
    #[arg(long)]
    at_most_once: bool,
    /// Retry policy: a preset name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Maximum number of retries after the first attempt.
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Timeout per attempt.
    #[arg(long, value_name = "DURATION")]
    timeout: Option<DurationArg>,
    /// System that the job calls, e.g. https://api.example.com; limited by destination gates.
    #[arg(long, value_name = "ORIGIN", conflicts_with = "target")]
    destination: Option<String>,
    /// Concurrency key, such as a customer id; limited by key gates.
    #[arg(long, value_name = "KEY")]
    concurrency_key: Option<String>,
    /// Idempotency key: repeating the command with the same key creates no second job.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Allow only one unfinished job with this key; see --unique-while.
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,
    /// How long the job stays unique: waiting or unfinished [default: unfinished].
    #[arg(long, value_name = "STATE", requires = "unique")]
    unique_while: Option<UniqueScope>,
    /// What to do with a duplicate: keep, replace or reject [default: keep].
    #[arg(long, value_name = "ACTION", requires = "unique")]
    on_conflict: Option<ConflictAction>,
    /// Debounce: start a unique job after this long without another request for it.
    #[arg(long, value_name = "DURATION", requires = "unique")]
    debounce: Option<DurationArg>,
    /// Maximum time from the first request to the start.
    #[arg(long, value_name = "DURATION", requires = "debounce")]
    debounce_max: Option<DurationArg>,
    /// Start deadline: a time, or a duration after creation.
    #[arg(long, value_name = "TIME|DURATION")]
    start_before: Option<StartBefore>,
    /// What to do when the start deadline passes: fail or cancel [default: fail].
    #[arg(long, value_name = "ACTION", requires = "start_before")]
    on_expiry: Option<ExpiryAction>,
    /// Start only after this job has ended; may be repeated.
    #[arg(long, value_name = "JOB")]
    after: Vec<JobId>,
    /// What to do when one of those jobs fails: wait, fail or run [default: wait].
    #[arg(long, value_name = "ACTION", requires = "after")]
    on_failure: Option<OnFailure>,
    /// Add the job to this batch, which must be open.
    #[arg(long, value_name = "BATCH", conflicts_with = "unique")]
    batch: Option<BatchId>,
    /// Ask at this URL whether an attempt took effect before it is repeated; {jobId} and
    /// {idempotencyKey} stand for those of the job. For other jobs than HTTP jobs: JSON, e.g. {}.
    #[arg(long, value_name = "URL|JSON")]
    confirm: Option<String>,
    /// What an attempt is expected to use, e.g. tokens=1800; may be repeated.
    #[arg(long, value_name = "UNIT=AMOUNT")]
    cost: Vec<String>,
    /// Where the response of an HTTP job says what was used, e.g. tokens=/usage/total_tokens or
    /// tokens=X-Tokens-Used; may be repeated.
    #[arg(long, value_name = "UNIT=POINTER|HEADER")]
    usage: Vec<String>,
    /// Tag, e.g. order=4711; may be repeated.
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    tags: Vec<String>,
    /// URL that receives a webhook when the job ends.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Follow the job until it ends; exits with 0 if it succeeded and 1 otherwise.
    #[arg(long)]
    watch: bool,
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    let (watch, request) = (args.watch, args.request(server).await?);
    let response = server.send(server.client.create(&request)).await?;
    if server.json && !watch {
        return Ok(print_json(&response)?);
    }
    // 201 is a new job; 200 is the existing job with this idempotency key.
    let created = if response.status() == 201 {
        "created"
    } else {
        "already exists"
    };
    match server.parse(&response)? {
        CreateResult::Job(job) if watch => {
            if !server.json {
                print_line!("{} {created}", job.id)?;
            }
            watch::one(server, &job.id.to_string()).await
        }
        CreateResult::Job(job) => {
            let result = job.unique_result.map(UniqueResult::as_str);
            let result = result.map(|it| format!("already exists with this key and was {it}"));
            print_created(&job, result.as_deref().unwrap_or(created))
        }
        CreateResult::Schedule(schedule) => {
            let next = schedule.next_tick;
            let next = next.map_or("never".to_owned(), |next| moment(next, now()));
            Ok(print_line!("{} {created}; next tick: {next}", schedule.id)?)
        }
        CreateResult::Jobs(list) => {
            let jobs = quantity(list.jobs.len() as u64, "job", "jobs");
            Ok(print_line!("{jobs} created")?)
        }
        // A newer server may create what this version does not know.
        _ => Ok(print_json(&response)?),
    }
}

fn print_created(job: &JobBody, created: &str) -> anyhow::Result<()> {
    let id = job.id;
    match job.label {
        JobLabel::Scheduled => {
            print_line!("{id} {created}: it runs {}", moment(job.run_at, now()))?;
        }
        label => print_line!("{id} {created}: it is {label}")?,
    }
    Ok(print_line!("show it with: steadfast jobs show {id}")?)
}

impl Args {
    /// The request of `--from`, if it is given, with the fields of the flags over it.
    async fn request(&self, server: &Server) -> anyhow::Result<Value> {
        let mut fields: Map<String, Value> = match self.from.as_deref() {
            Some("-") => read_json("-", "--from")?,
            Some(id) if id.starts_with("job_") && !Path::new(id).exists() => {
                self.like(server, id).await?
            }
            Some(path) => read_json(&format!("@{path}"), path)?,
            None => Map::new(),
        };
        if let Value::Object(flags) = serde_json::to_value(self.fields()?)? {
            fields.extend(flags);
        }
        if self.target.is_none() {
            self.change_target(&mut fields)?;
        }
        if fields.is_empty() {
            return Err(usage(
                "a job needs a URL, or --kind and --payload, or --from JOB or FILE",
            ));
        }
        Ok(fields.into())
    }

    /// A request for a job like this one. The server knows what is never shown, such as headers.
    async fn like(&self, server: &Server, id: &str) -> anyhow::Result<Map<String, Value>> {
        let mut fields = Map::from_iter([("like".to_owned(), Value::from(id))]);
        let changes_headers = !self.headers.is_empty();
        let changes_http = self.method.is_some()
            || changes_headers
            || self.body.is_some()
            || !self.usage.is_empty();
        if changes_http {
            let job = server.fetch(server.client.get_job(id)).await?;
            let http = job.http.map(|http| json!({"url": http.url}));
            fields.extend(http.map(|http| ("http".to_owned(), http)));
        }
        Ok(fields)
    }

    /// Method, headers, body and usage over those of the request that `--from` names.
    fn change_target(&self, fields: &mut Map<String, Value>) -> anyhow::Result<()> {
        let headers = self.headers.read()?.map(serde_json::to_value).transpose()?;
        let usage_sources = match self.usage.is_empty() {
            true => None,
            false => Some(json!(parse_pairs(&self.usage, &['='], "--usage")?)),
        };
        let changes = [
            ("method", self.method.clone().map(Value::from)),
            ("headers", headers),
            ("body", read_optional_json(self.body.as_ref(), "--body")?),
            ("usage", usage_sources),
        ];
        for (name, value) in changes {
            let Some(value) = value else { continue };
            let Some(Value::Object(http)) = fields.get_mut("http") else {
                return Err(usage(format!(
                    "--{} requires a URL: it applies to HTTP jobs only",
                    name.trim_end_matches('s')
                )));
            };
            match (http.get_mut(name), value) {
                (Some(Value::Object(stored)), Value::Object(given)) if name == "headers" => {
                    // Names of headers have no case.
                    stored.retain(|name, _| !given.keys().any(|it| it.eq_ignore_ascii_case(name)));
                    stored.extend(given);
                }
                (_, value) => drop(http.insert(name.to_owned(), value)),
            }
        }
        Ok(())
    }

    fn unique(&self) -> anyhow::Result<Option<Unique>> {
        let Some(key) = &self.unique else {
            return Ok(None);
        };
        Ok(Some(Unique {
            key: UniqueKey::new(key).map_err(|error| usage(error.to_string()))?,
            scope: self.unique_while.unwrap_or(UniqueScope::Unfinished),
            on_conflict: self.on_conflict.unwrap_or(ConflictAction::Keep),
        }))
    }

    fn confirm(&self) -> anyhow::Result<Option<ConfirmSettings>> {
        let Some(text) = &self.confirm else {
            return Ok(None);
        };
        if !text.trim_start().starts_with('{') {
            return Ok(Some(ConfirmSettings {
                url: Some(text.clone()),
                ..ConfirmSettings::default()
            }));
        }
        let settings = serde_json::from_str(text);
        let settings = settings.map_err(|error| usage(format!("--confirm: {error}")))?;
        Ok(Some(settings))
    }

    fn cost(&self) -> anyhow::Result<Option<BTreeMap<String, f64>>> {
        let pairs = parse_pairs(&self.cost, &['='], "--cost")?;
        let cost = pairs.into_iter().map(|(unit, amount)| {
            let number: Result<Number, _> = amount.parse();
            let number = number.map_err(|error| usage(format!("--cost {unit}: {error}")))?;
            Ok((unit, number.0))
        });
        let cost = cost.collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        Ok((!cost.is_empty()).then_some(cost))
    }

    fn fields(&self) -> anyhow::Result<CreateJobRequest> {
        if self.payload.is_some() && self.kind.is_none() && self.from.is_none() {
            return Err(usage("--payload requires --kind"));
        }
        let tags = parse_pairs(&self.tags, &['=', ':'], "--tag")?;
        let http = match &self.target {
            Some(url) => Some(HttpTargetRequest {
                url: url.clone(),
                method: self.method.clone(),
                headers: self.headers.read()?.unwrap_or_default(),
                body: read_optional_json(self.body.as_ref(), "--body")?,
                usage: parse_pairs(&self.usage, &['='], "--usage")?,
            }),
            None => None,
        };
        Ok(CreateJobRequest {
            http,
            kind: self.kind.clone(),
            payload: read_optional_json(self.payload.as_ref(), "--payload")?,
            queue: self.queue.clone(),
            tenant: self.tenant.clone(),
            priority: self.priority,
            delay: self.delay.map(|delay| delay.0.into()),
            run_at: self.run_at,
            guarantee: self.at_most_once.then_some(Guarantee::AtMostOnce),
            retry: self.retry.clone().map(|retry| retry.0),
            max_retries: self.max_retries,
            timeout: self.timeout.map(|timeout| timeout.0.into()),
            destination: self.destination.clone(),
            concurrency_key: self.concurrency_key.clone(),
            idempotency_key: self.idempotency_key.clone(),
            unique: self.unique()?,
            debounce: self.debounce.map(|wait| wait.0.into()),
            debounce_max: self.debounce_max.map(|wait| wait.0.into()),
            start_before: self.start_before,
            on_expiry: self.on_expiry,
            after: Some(self.after.iter().copied().map(JobReference::from).collect())
                .filter(|after: &Vec<_>| !after.is_empty()),
            on_failure: self.on_failure,
            batch: self.batch,
            confirm: self.confirm()?,
            cost: self.cost()?,
            tags: Some(tags).filter(|tags| !tags.is_empty()),
            webhook: self.webhook.clone().map(|url| WebhookRequest {
                url,
                ..WebhookRequest::default()
            }),
            ..CreateJobRequest::default()
        })
    }
}
