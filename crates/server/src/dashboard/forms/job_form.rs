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
        actions::redirect_back,
        forms::{
            fields::Fields,
            job_fields::{fields_like, methods, pretty, request_body},
        },
        pages::job::find,
        viewer::{Editor, Viewer},
    },
    extract::body,
    http::problem::Problem,
    theme::{
        layout::{Layout, render},
        page_error::{PageError, PageResult},
    },
};

#[derive(Template)]
#[template(path = "forms/job_form.html")]
struct JobFormPage {
    layout: Layout,
    fields: Fields,
    error: Option<String>,
    shows_tenants: bool,
}

impl JobFormPage {
    fn methods(&self) -> Vec<(&'static str, bool)> {
        methods(&self.fields)
    }
}

pub async fn new_page(viewer: Viewer) -> PageResult {
    viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
    let fields = match viewer.fields.get("like") {
        Some(id) => fields_like(&find(&viewer, id).await?),
        None => with_policy(viewer.fields.clone()),
    };
    form_page(&viewer, fields, None)
}

fn form_page(viewer: &Viewer, fields: Fields, problem: Option<Problem>) -> PageResult {
    let status = problem.as_ref().map_or(StatusCode::OK, |it| it.status);
    let page = render(&JobFormPage {
        layout: viewer.layout("/jobs", "New job"),
        error: problem.map(|problem| problem.detail),
        shows_tenants: viewer.caller.tenant.is_none(),
        fields,
    })?;
    Ok((status, page).into_response())
}

/// The simulator leads here with a policy as it stands in the body of a request.
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
        Ok((job, did)) => Ok(redirect_back(&format!("/jobs/{}", job.id), did, None)),
        Err(PageError::Problem(problem)) => {
            let Editor { viewer, form } = editor;
            form_page(&viewer, form, Some(problem))
        }
        Err(other) => Err(other),
    }
}

async fn try_create(editor: &Editor) -> Result<(Job, &'static str), PageError> {
    let Editor { viewer, form } = editor;
    let liked = match form.get("like") {
        Some(id) => Some(find(viewer, id).await?),
        None => None,
    };
    let body = request_body(form, liked.as_ref())?;
    let mut body = body::parse(&serde_json::to_vec(&body).unwrap_or_default())?;
    if let Some(liked) = &liked {
        body = copy_job::fill_hidden(liked, body)?;
    }
    let (app, caller) = (&viewer.app, &viewer.caller);
    let reader = RequestReader { app, caller };
    let JobOrSchedule::Job(request) = reader.job_or_schedule(body)? else {
        return Err(Problem::invalid("schedule", "a schedule has a form of its own").into());
    };
    let created = app.client.create(request).await.map_err(Problem::from)?;
    let did = match created {
        CreateResult::New(_) => "create",
        CreateResult::Existing(_) | CreateResult::Unique(..) => "existing",
    };
    Ok((created.job(), did))
}
