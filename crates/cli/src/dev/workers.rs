//! The workers of the server, as they come, and jobs that no worker takes.
//!
//! A job of a kind that no worker asks for is the first mistake of every beginner, and nothing happens
//! then that could be printed. So the server is asked.

use std::collections::BTreeSet;

use steadfast_api::{JobBody, JobQuery, StartExplanation, TenantPageQuery, WorkerBody};
use steadfast_client::Client;
use steadfast_core::{BlockerKind, JobLabel};

use crate::{
    limits::{DEV_JOBS_MAX, DEV_LOOK_EVERY},
    output::print_line,
    show::{clock_time, now},
};

/// Prints until it is stopped, or until the reader closes the output.
pub async fn print(client: Client, invitation: String) {
    let mut seen = SeenNames::default();
    if print_line!("{invitation}").is_err() {
        return;
    }
    loop {
        tokio::time::sleep(DEV_LOOK_EVERY).await;
        for line in seen.round(&client).await {
            if print_line!("{} {line}", clock_time(now())).is_err() {
                return;
            }
        }
    }
}

#[derive(Default)]
struct SeenNames {
    workers: BTreeSet<String>,
    /// Queue and kind of jobs that no worker takes. A pair is forgotten when it is served, so that
    /// it is named again when its worker has gone.
    missing: BTreeSet<(String, String)>,
    /// Ready jobs of the last round: a new job is given a moment.
    ready: BTreeSet<(String, String)>,
}

impl SeenNames {
    /// One look at the server: the new sentences. A server that does not answer is stopping.
    async fn round(&mut self, client: &Client) -> Vec<String> {
        let mut lines = Vec::new();
        if let Ok(list) = client.list_workers(&TenantPageQuery::default()).await {
            let workers = list.workers.into_iter().filter(|worker| worker.alive);
            for worker in workers {
                if self.workers.insert(worker.name.clone()) {
                    lines.push(describe(&worker));
                }
            }
        }
        let query = JobQuery {
            label: Some(JobLabel::Ready),
            limit: Some(DEV_JOBS_MAX),
            ..JobQuery::default()
        };
        let Ok(list) = client.list_jobs(&query).await else {
            return lines;
        };
        let pairs: BTreeSet<_> = list.jobs.iter().map(pair).collect();
        self.missing.retain(|it| pairs.contains(it));
        for job in &list.jobs {
            let pair = pair(job);
            if !self.ready.contains(&pair) || self.missing.contains(&pair) {
                continue;
            }
            let Ok(explanation) = client.explain_job(job.id).await else {
                continue;
            };
            if let Some(sentence) = missing_worker(&explanation) {
                lines.push(format!("! {} waits: {sentence}", job.id));
                self.missing.insert(pair);
            }
        }
        self.ready = pairs;
        lines
    }
}

fn pair(job: &JobBody) -> (String, String) {
    (job.queue.to_string(), job.kind.to_string())
}

fn missing_worker(explanation: &StartExplanation) -> Option<&str> {
    let mut blockers = explanation.blockers.iter();
    let blocker = blockers.find(|it| it.kind == BlockerKind::NoWorker)?;
    Some(&blocker.sentence)
}

fn describe(worker: &WorkerBody) -> String {
    let list = |names: &[String], all: &str| match names {
        [] => all.to_owned(),
        names => names.join(", "),
    };
    format!(
        "+ worker {} asks for kinds {} in queues {}",
        worker.name,
        list(&worker.kinds, "of all names"),
        list(&worker.queues, "of all names")
    )
}
