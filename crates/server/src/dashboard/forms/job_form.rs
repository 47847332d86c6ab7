//! The form by which a job is created, empty or filled from another job.

use askama::Template;
use axum::{http::StatusCode, response::IntoResponse as _};
use serde_json::Value;
use steadfast_core::Job;
use steadfast_engine::CreateResult;

use crate::{
    api::work::{
        copy_job,
        create::{JobOrSchedule, RequestReader},
    },
    auth::keys::Scope,
    dashboard::{
        forms::job_fields::{fields_of_copy, methods, pretty, request_body},
        page::{Editor, Fields, Layout, PageError, PageResult, Viewer, done, render},
        pages::job::find,
    },
    extract::{Body, body::from_json},
    http::Problem,
};

#[derive(Template)]
#[template(path = "forms/job_form.html")]
struct JobFormPage {
    layout: Layout,
    fields: Fields,
    error: Option<String>,
}

impl JobFormPage {
    fn methods(&self) -> Vec<(&'static str, bool)> {
        methods(&self.fields)
    }
}

pub async fn new_page(viewer: Viewer) -> PageResult {
    viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
    let fields = match viewer.fields.get("like") {
        Some(id) => fields_of_copy(&find(&viewer, id).await?),
        None => with_policy(viewer.fields.clone()),
    };
    form_page(&viewer, fields, None)
}

fn form_page(viewer: &Viewer, fields: Fields, problem: Option<Problem>) -> PageResult {
    let status = problem.as_ref().map_or(StatusCode::OK, |it| it.status);
    let page = render(&JobFormPage {
        layout: viewer.layout("/jobs", "New job"),
        error: problem.map(|problem| problem.detail),
        fields,
    })?;
    Ok((status, page).into_response())
}

/// The simulator links here with a policy as in the body of a request.
fn with_policy(fields: Fields) -> Fields {
    let body = serde_json::from_str::<Value>(fields.value("policy"));
    let retry = match body.as_ref().map(|body| &body["retry"]) {
        Ok(Value::String(preset)) => preset.clone(),
        Ok(policy @ Value::Object(_)) => pretty(policy),
        _ => return fields,
    };
    [("retry", retry)].into_iter().collect()
}

pub async fn create(editor: Editor) -> PageResult {
    match try_create(&editor).await {
        Ok((job, did)) => done(&format!("/jobs/{}", job.id), did),
        Err(PageError::Problem(problem)) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, form, Some(problem))
        }
        Err(other) => Err(other),
    }
}

async fn try_create(editor: &Editor) -> Result<(Job, &'static str), PageError> {
    let Editor { viewer, form } = editor;
    let copied = match form.get("like") {
        Some(id) => Some(find(viewer, id).await?),
        None => None,
    };
    let body = request_body(form, copied.as_ref())?;
    let Body(mut body) = from_json(&body)?;
    if let Some(copied) = &copied {
        body = copy_job::fill_hidden(copied, body)?;
    }
    let (app, caller) = (&viewer.app, &viewer.caller);
    let reader = RequestReader { app, caller };
    let JobOrSchedule::Job(request) = reader.job_or_schedule(body)? else {
        return Err(Problem::invalid("schedule", "use the form for schedules").into());
    };
    let client = caller.creator(app, std::slice::from_ref(&request)).await?;
    let created = client.create(request).await.map_err(Problem::from)?;
    let did = match created {
        CreateResult::New(_) => "create",
        CreateResult::Existing(_) | CreateResult::Unique(..) => "existing",
    };
    Ok((created.job(), did))
}
