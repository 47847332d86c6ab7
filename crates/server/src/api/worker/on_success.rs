//! Jobs that are created with the success of an attempt, or not at all.

use std::collections::HashMap;

use axum::http::StatusCode;
use steadfast_api::CreateJobRequest;
use steadfast_core::{JobId, Kind, NewJob, Tenant};
use steadfast_engine::{confirm_secrets, payload_secrets};

use crate::{
    api::work::create::{JobOrSchedule, RequestReader},
    app::App,
    extract::Caller,
    http::Problem,
    limits,
};

/// Reads the bodies of `onSuccess`, for one caller.
pub struct OnSuccessReader<'a> {
    app: &'a App,
    caller: &'a Caller,
    /// Of the jobs whose attempts have succeeded.
    tenants: HashMap<JobId, Tenant>,
}

impl<'a> OnSuccessReader<'a> {
    /// Looks up the tenants of these jobs, which are those of the new ones.
    pub async fn new(app: &'a App, caller: &'a Caller, jobs: Vec<JobId>) -> Result<Self, Problem> {
        let mut tenants = HashMap::new();
        for some in jobs.chunks(limits::ON_SUCCESS_MAX) {
            let found = app.client.jobs_of(some.to_vec()).await?;
            let visible = found.into_iter().flatten();
            let visible = visible.filter(|job| caller.sees(&job.tenant));
            tenants.extend(visible.map(|job| (job.id, job.tenant)));
        }
        Ok(Self {
            app,
            caller,
            tenants,
        })
    }

    /// The jobs that the success of this one creates.
    pub fn read(&self, of: JobId, bodies: Vec<CreateJobRequest>) -> Result<Vec<NewJob>, Problem> {
        let (count, most) = (bodies.len(), limits::ON_SUCCESS_MAX);
        if count > most {
            let detail = format!("onSuccess contains {count} jobs: must be at most {most}");
            return Err(Problem::invalid("onSuccess", detail));
        }
        let jobs = bodies.into_iter().enumerate().map(|(index, body)| {
            self.read_one(of, body)
                .map_err(|problem| problem.within(&format!("onSuccess[{index}]")))
        });
        jobs.collect()
    }

    fn read_one(&self, of: JobId, mut body: CreateJobRequest) -> Result<NewJob, Problem> {
        // A key that is taken already would make the job vanish, and the success with it or not.
        if body.idempotency_key.is_some() {
            let detail = "idempotencyKey must be omitted: repeating the report of a success creates no \
                          duplicate jobs";
            return Err(Problem::invalid("idempotencyKey", detail));
        }
        let tenant = self.tenants.get(&of).map(ToString::to_string);
        if body.tenant.is_some() && tenant.is_some() && body.tenant != tenant {
            let detail = "tenant must be the tenant of the job that succeeded, or omitted";
            return Err(Problem::invalid("tenant", detail));
        }
        body.tenant = tenant.or(body.tenant);
        let (app, caller) = (self.app, self.caller);
        match (RequestReader { app, caller }).job_or_schedule(body)? {
            JobOrSchedule::Job(request) => {
                let job = app.client.prepare_outbox(request)?;
                check_no_secrets(caller, &job)?;
                Ok(job)
            }
            JobOrSchedule::Schedule { .. } => {
                let detail = "onSuccess cannot create recurring jobs; create schedules separately";
                Err(Problem::invalid("schedule", detail))
            }
        }
    }
}

/// A worker that could name a secret could send it to any address.
fn check_no_secrets(caller: &Caller, job: &NewJob) -> Result<(), Problem> {
    let names_none = || payload_secrets(&job.payload).is_empty() && confirm_secrets(job).is_empty();
    if caller.may_write() || job.kind != Kind::http() || names_none() {
        return Ok(());
    }
    let detail = format!(
        "a key with scope {} cannot create jobs that name secrets; use a key with scope tenant or admin",
        caller.scope
    );
    let problem = Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail);
    Err(problem.at("http.headers"))
}
