//! `steadfast jobs create`.

use serde_json::{Value, json};

use super::watch;
use crate::{
    exit::usage,
    output::{self, print_line},
    remote::Remote,
    settings::{DurationArg, RetryArg},
    show::{JobView, moment, now},
    verbs::{pairs, read_json, said},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast jobs create https://example.com/hook --body '{\"order\": 7}' --watch\n  steadfast jobs create https://example.com/hook --retry patient --delay 10m\n  steadfast jobs create --kind resize --payload '{\"image\": 1}' --queue images\n  steadfast jobs create --from job.json\n  echo '{\"api\": \"https://example.com/\", \"maxRetryCount\": 3}' | steadfast jobs create --from -"
)]
pub struct Args {
    /// The URL of an HTTP job.
    #[arg(value_name = "URL", conflicts_with_all = ["kind", "payload", "from"])]
    target: Option<String>,
    /// The method of an HTTP job [default: POST].
    #[arg(long, requires = "target")]
    method: Option<String>,
    /// A header of an HTTP job, as 'name: value'; can be given often.
    #[arg(
        long = "header",
        short = 'H',
        requires = "target",
        value_name = "HEADER"
    )]
    headers: Vec<String>,
    /// The body of an HTTP job: JSON, @FILE, or - for standard input.
    #[arg(long, requires = "target", value_name = "JSON")]
    body: Option<String>,
    /// Which handler or worker it is for.
    #[arg(long)]
    kind: Option<String>,
    /// What the handler or worker gets: JSON, @FILE, or - for standard input.
    #[arg(long, requires = "kind", value_name = "JSON")]
    payload: Option<String>,
    /// The whole request as the API takes it: a file, or - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "kind")]
    from: Option<String>,
    /// Which lane it waits in [default: default].
    #[arg(long)]
    queue: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[arg(long)]
    tenant: Option<String>,
    /// 0 to 9, higher first.
    #[arg(long)]
    priority: Option<u8>,
    /// Not before this long from now.
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    delay: Option<DurationArg>,
    /// Not before this time.
    #[arg(long, value_name = "TIME")]
    run_at: Option<String>,
    /// Start it at most once, ever; no retries.
    #[arg(long)]
    at_most_once: bool,
    /// When to try again: a preset's name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// Retries after the first attempt.
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// How long one attempt may take.
    #[arg(long, value_name = "DURATION")]
    timeout: Option<DurationArg>,
    /// One key, one job: the same command again makes no second one.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// A tag, as name=value; can be given often.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Where news of its end goes.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Follow it until it ends; then 0 is a success and 1 is not.
    #[arg(long)]
    watch: bool,
}

pub async fn run(remote: &Remote, args: Args) -> anyhow::Result<()> {
    let (watch, body) = (args.watch, args.request()?);
    let answer = remote.post("/jobs", body).await?;
    if remote.json && !watch {
        return Ok(output::print_json(&answer)?);
    }
    if let Some(jobs) = answer["jobs"].as_array() {
        return Ok(print_line!("{} jobs made", jobs.len())?);
    }
    let id = answer["id"].as_str().unwrap_or_default().to_owned();
    if id.starts_with("sch_") {
        let next = answer["nextTick"].as_str().unwrap_or("never");
        return Ok(print_line!("{id} made: its next tick is {next}")?);
    }
    let job: JobView = serde_json::from_value(answer)?;
    if watch {
        if !remote.json {
            print_line!("{id} made")?;
        }
        return watch::one(remote, &id).await;
    }
    match job.label.as_str() {
        "scheduled" => print_line!("{id} made: it runs {}", moment(job.run_at, now()))?,
        label => print_line!("{id} made: it is {label}")?,
    }
    Ok(print_line!("see it with: steadfast jobs show {id}")?)
}

impl Args {
    fn request(self) -> anyhow::Result<Value> {
        let mut body = match &self.from {
            Some(path) if path == "-" => read_json(path, "standard input")?,
            Some(path) => read_json(&format!("@{path}"), path)?,
            None => json!({}),
        };
        let fields = body
            .as_object_mut()
            .ok_or_else(|| usage("the request must be a JSON object"))?;
        if let Value::Object(said) = self.fields()? {
            fields.extend(said);
        }
        if fields.is_empty() {
            return Err(usage(
                "say what the job is for: a URL, or --kind and --payload, or --from FILE",
            ));
        }
        Ok(body)
    }

    fn fields(self) -> anyhow::Result<Value> {
        let headers = pairs(&self.headers, ':', "--header")?;
        let body = self.body.map(|text| read_json(&text, "--body"));
        let payload = self.payload.map(|text| read_json(&text, "--payload"));
        let tags = pairs(&self.tags, '=', "--tag")?;
        let text = |value: Option<String>| value.map(Value::from);
        let http = match self.target {
            Some(url) => Some(said([
                ("url", Some(url.into())),
                ("method", text(self.method)),
                ("headers", (!headers.is_empty()).then(|| headers.into())),
                ("body", body.transpose()?),
            ])),
            None => None,
        };
        Ok(said([
            ("http", http),
            ("kind", text(self.kind)),
            ("payload", payload.transpose()?),
            ("queue", text(self.queue)),
            ("tenant", text(self.tenant)),
            ("priority", self.priority.map(Value::from)),
            ("delay", text(self.delay.map(|delay| delay.to_string()))),
            ("runAt", text(self.run_at)),
            ("type", self.at_most_once.then(|| "AT_MOST_ONCE".into())),
            ("retry", self.retry.map(|retry| json!(retry))),
            ("maxRetries", self.max_retries.map(Value::from)),
            ("timeout", text(self.timeout.map(|span| span.to_string()))),
            ("idempotencyKey", text(self.idempotency_key)),
            ("tags", (!tags.is_empty()).then(|| tags.into())),
            ("webhook", self.webhook.map(|url| json!({"url": url}))),
        ]))
    }
}
