//! `steadfast batches`: groups of jobs with shared progress and callbacks.

use clap::Subcommand;
use serde_json::{Map, Value};
use steadfast_api::{BatchBody, BatchCallbackBody, BatchJobQuery, BatchList, BatchQuery};
use steadfast_core::{BatchId, BatchJobFilter, BatchStatus, OperationKind};

use super::{
    operations::bulk::{self, BulkArgs, BulkRunArgs, BulkWork},
    read_json, read_optional_json,
};
use crate::{
    exit::ExitError,
    job_list::{JobFilterArgs, print_jobs},
    limits::{FOLLOW_FIRST, WATCH_EVERY},
    output::{self, print_line},
    page::{PageArgs, print_rows},
    server_args::{Server, ServerArgs},
    show::{age, moment, now, quantity, status_cell, thousands},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast batches create --from batch.json\n  steadfast batches create --open --name import --on-success '{\"kind\": \"publish\"}'\n  steadfast jobs create --kind page --payload 1 --batch bat_…\n  steadfast batches close bat_…\n  steadfast batches show bat_… --watch\n  steadfast batches jobs bat_… --state failed\n  steadfast batches cancel bat_… --yes"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a batch, optionally with jobs from a file.
    #[command(
        after_help = "Without --open, no more jobs can be added, and the batch ends when its jobs have ended.\n\nExamples:\n  steadfast batches create --from batch.json\n  steadfast batches create --open --name 'import 7' --on-end '{\"kind\": \"summary\"}'"
    )]
    Create(CreateArgs),
    /// List batches, newest first.
    #[command(
        after_help = "Examples:\n  steadfast batches list\n  steadfast batches list --unfinished"
    )]
    List {
        /// Only this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
        /// Only batches that are open or have unfinished jobs.
        #[arg(long)]
        unfinished: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a batch with its counts and callback jobs.
    #[command(
        after_help = "Examples:\n  steadfast batches show bat_…\n  steadfast batches show bat_… --watch"
    )]
    Show {
        /// Batch id, bat_….
        id: String,
        /// Follow the batch until all jobs have ended; exits with 0 if all succeeded and 1 otherwise.
        #[arg(long)]
        watch: bool,
    },
    /// List the stored jobs of a batch, newest first.
    #[command(
        after_help = "Examples:\n  steadfast batches jobs bat_…\n  steadfast batches jobs bat_… --state failed"
    )]
    Jobs {
        /// Batch id, bat_….
        id: String,
        /// Only jobs in this state: unfinished, succeeded, failed or cancelled.
        #[arg(long)]
        state: Option<BatchJobFilter>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Cancel the unfinished jobs of a batch.
    #[command(
        after_help = "Waiting jobs are cancelled; running jobs are asked to stop. Cancelled jobs count as failed: the --on-end job is created, the --on-success job is not. An open batch stays open.\n\nExamples:\n  steadfast batches cancel bat_… --dry-run\n  steadfast batches cancel bat_… --yes"
    )]
    Cancel {
        /// Batch id, bat_….
        id: BatchId,
        #[command(flatten)]
        run: BulkRunArgs,
    },
    /// Close an open batch: no more jobs can be added, so it can end.
    #[command(after_help = "Example:\n  steadfast batches close bat_…")]
    Close {
        /// Batch id, bat_….
        id: String,
    },
}

#[derive(clap::Args)]
struct CreateArgs {
    /// File with the full API request, or - for standard input.
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// Name of the batch.
    #[arg(long)]
    name: Option<String>,
    /// Create it for this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Leave the batch open, so that jobs can be added with `jobs create --batch`.
    #[arg(long)]
    open: bool,
    /// Job to create when all jobs have ended: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    on_end: Option<String>,
    /// Job to create when all jobs have succeeded: JSON, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    on_success: Option<String>,
    /// Idempotency key: repeating the command with the same key creates no second batch.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

impl CreateArgs {
    /// The request of the file, if there is one, with the fields of the flags over it.
    fn request(&self) -> anyhow::Result<Map<String, Value>> {
        let mut fields: Map<String, Value> = match self.from.as_deref() {
            Some("-") => read_json("-", "--from")?,
            Some(path) => read_json(&format!("@{path}"), path)?,
            None => Map::new(),
        };
        let texts = [
            ("name", &self.name),
            ("tenant", &self.tenant),
            ("idempotencyKey", &self.idempotency_key),
        ];
        for (field, text) in texts {
            let text = text.clone().map(Value::from);
            fields.extend(text.map(|text| (field.to_owned(), text)));
        }
        if self.open {
            fields.insert("open".to_owned(), true.into());
        }
        let on_end: Option<Value> = read_optional_json(self.on_end.as_ref(), "--on-end")?;
        fields.extend(on_end.map(|job| ("onEnd".to_owned(), job)));
        let on_success = read_optional_json(self.on_success.as_ref(), "--on-success")?;
        fields.extend(on_success.map(|job: Value| ("onSuccess".to_owned(), job)));
        Ok(fields)
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = &args.server.connect()?;
    let client = &server.client;
    match args.verb {
        Verb::Create(args) => create(server, &args).await,
        Verb::List {
            tenant,
            unfinished,
            page,
        } => {
            let query = BatchQuery {
                tenant,
                unfinished: unfinished.then_some(true),
                limit: Some(page.limit),
                after: page.after,
            };
            server.show(client.list_batches(&query), print_list).await
        }
        Verb::Show { id, watch: true } => {
            let batch = follow(server, server.fetch(client.get_batch(&id)).await?).await?;
            server.print(&batch, print_batch)?;
            match batch.status {
                BatchStatus::Failed => Err(ExitError::Reported.into()),
                _ => Ok(()),
            }
        }
        Verb::Show { id, watch: false } => server.show(client.get_batch(&id), print_batch).await,
        Verb::Jobs { id, state, page } => {
            let query = BatchJobQuery {
                state,
                limit: Some(page.limit),
                after: page.after,
            };
            let jobs = server.call(client.list_batch_jobs(&id, &query)).await?;
            jobs.as_ref().map_or(Ok(()), |it| print_jobs(it, "no jobs"))
        }
        Verb::Cancel { id, run } => {
            // A batch that does not exist must not look like a batch without jobs.
            server.fetch(client.get_batch(id)).await?;
            let jobs = BulkArgs {
                ids: Vec::new(),
                filter: JobFilterArgs {
                    batch: Some(id),
                    ..JobFilterArgs::default()
                },
                all: false,
                run,
            };
            let work = BulkWork::on_jobs(OperationKind::Cancel, None);
            bulk::run(server, &work, &jobs).await
        }
        Verb::Close { id } => server.show(client.close_batch(&id), print_batch).await,
    }
}

async fn create(server: &Server, args: &CreateArgs) -> anyhow::Result<()> {
    let request = server.client.create_batch(&args.request()?);
    let response = server.send(request).await?;
    if server.json {
        return Ok(crate::server_args::print_json(&response)?);
    }
    // 201 is a new batch; 200 is the existing batch with this idempotency key.
    let created = match response.status() == 201 {
        true => "created",
        false => "already exists",
    };
    let batch: BatchBody = server.parse(&response)?;
    let jobs = quantity(batch.total, "job", "jobs");
    let id = batch.id;
    print_line!("{id} {created}: {jobs}, {}", batch.status.as_str())?;
    match batch.status {
        BatchStatus::Open => print_line!("add jobs with: steadfast jobs create --batch {id}")?,
        _ => print_line!("show it with: steadfast batches show {id}")?,
    }
    Ok(())
}

/// Shows progress until all jobs of a batch have ended.
async fn follow(server: &Server, mut batch: BatchBody) -> anyhow::Result<BatchBody> {
    let bar = output::progress_bar(batch.id, batch.total);
    let mut pause = FOLLOW_FIRST;
    while batch.finished_at.is_none() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(WATCH_EVERY);
        batch = server.fetch(server.client.get_batch(batch.id)).await?;
        bar.set_length(batch.total);
        bar.set_position(batch.total - batch.unfinished);
        bar.set_message(format!("{} failed", thousands(batch.failed)));
    }
    bar.finish_and_clear();
    Ok(batch)
}

fn status_phrase(status: BatchStatus) -> &'static str {
    match status {
        BatchStatus::Open => "is open",
        BatchStatus::Running => "is running",
        BatchStatus::Succeeded => "has succeeded",
        BatchStatus::Failed => "has failed",
    }
}

fn print_batch(batch: &BatchBody) -> anyhow::Result<()> {
    let now = now();
    let name = batch.name.as_ref();
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    print_line!("{}{name} {}", batch.id, status_phrase(batch.status))?;
    let jobs = format!(
        "{} of {} ended ({} %): {} succeeded, {} failed",
        thousands(batch.total - batch.unfinished),
        thousands(batch.total),
        batch.progress,
        thousands(batch.succeeded),
        thousands(batch.failed)
    );
    let mut facts = vec![
        ("jobs", jobs),
        ("tenant", batch.tenant.to_string()),
        ("created", moment(batch.created_at, now)),
    ];
    facts.extend(batch.finished_at.map(|at| ("ended", moment(at, now))));
    let made = |callback: BatchCallbackBody| match callback.created {
        true => format!("{} (created)", callback.id),
        false => format!("{} (not created yet)", callback.id),
    };
    facts.extend(batch.on_end.map(|it| ("on end", made(it))));
    facts.extend(batch.on_success.map(|it| ("on success", made(it))));
    for (name, fact) in facts {
        print_line!("  {name:<10} {fact}")?;
    }
    Ok(())
}

fn print_list(list: &BatchList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.batches,
        "no batches",
        ["id", "name", "status", "ended", "failed", "age"],
        list.next_cursor.as_ref(),
        |batch| {
            let ended = thousands(batch.total - batch.unfinished);
            [
                batch.id.to_string().into(),
                batch.name.as_deref().unwrap_or_default().into(),
                status_cell(batch.status.as_str()),
                format!("{ended} of {}", thousands(batch.total)).into(),
                thousands(batch.failed).into(),
                age(batch.created_at, now).into(),
            ]
        },
    )
}
