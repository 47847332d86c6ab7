//! `steadfast endpoints`: URLs that receive webhooks and alerts.

use clap::Subcommand;
use steadfast_api::{
    CreateEndpointRequest, EditEndpointRequest, EndpointBody, EndpointList, EndpointWithSecret,
    JobBody, PageQuery, RotateSecretRequest,
};
use steadfast_client::Request;
use steadfast_core::{BodyFormat, EventType};

use super::{
    headers::HeaderArgs,
    jobs::{follow_job, print_waits},
    the_only_one,
};
use crate::{
    job_list::print_jobs,
    output::print_line,
    page::{PageArgs, print_rows},
    server_args::{ConfirmArgs, Server, ServerArgs},
    settings::{DurationArg, RetryArg},
    show::{age, now},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://hooks.slack.com/… --format slack \\\n    --events alert.fired,alert.resolved\n  steadfast endpoints test https://example.com/steadfast\n  steadfast endpoints rotate end_…"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List endpoints, oldest first.
    #[command(after_help = "Example:\n  steadfast endpoints list")]
    List {
        /// Only this tenant; requires a key for all tenants.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Create an endpoint for webhooks or alerts. Its signing secret is shown once.
    #[command(
        after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://example.com/oncall --events alert.fired,alert.resolved"
    )]
    Create(Box<CreateArgs>),
    /// Show an endpoint.
    #[command(after_help = "Example:\n  steadfast endpoints show end_…")]
    Show {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
    },
    /// Edit an endpoint; other settings stay unchanged.
    #[command(
        after_help = "Examples:\n  steadfast endpoints edit end_… --to https://example.com/v2\n  steadfast endpoints edit end_… --events job.failed,endpoint.disabled"
    )]
    Edit(Box<EditArgs>),
    /// Enable an endpoint and send its waiting deliveries.
    #[command(after_help = "Example:\n  steadfast endpoints enable end_…")]
    Enable {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
    },
    /// Disable an endpoint: its deliveries wait until it is enabled, for at most seven days.
    #[command(after_help = "Example:\n  steadfast endpoints disable end_…")]
    Disable {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
    },
    /// Send a test event and follow its delivery.
    #[command(
        after_help = "The exit code is 1 if the delivery fails.\n\nExample:\n  steadfast endpoints test end_…"
    )]
    Test {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
        /// Do not follow the delivery.
        #[arg(long)]
        detach: bool,
    },
    /// List the deliveries to an endpoint, newest first.
    #[command(
        after_help = "`jobs history` shows the attempts of a delivery.\n\nExamples:\n  steadfast endpoints deliveries end_…\n  steadfast jobs history job_…"
    )]
    Deliveries {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Resend an ended delivery.
    #[command(after_help = "Example:\n  steadfast endpoints resend job_…")]
    Resend {
        /// Job id of the delivery, job_….
        #[arg(value_name = "DELIVERY")]
        id: String,
    },
    /// Delete an endpoint; its deliveries are cancelled.
    #[command(after_help = "Example:\n  steadfast endpoints delete end_…")]
    Delete {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
    /// Rotate the signing secret; the old secret stays valid for a while.
    #[command(after_help = "Example:\n  steadfast endpoints rotate end_… --overlap 2d")]
    Rotate {
        /// Id or URL of the endpoint.
        #[arg(value_name = "ENDPOINT")]
        id: String,
        /// How long deliveries are also signed with the old secret [default: 24h].
        #[arg(long, value_name = "DURATION")]
        overlap: Option<DurationArg>,
    },
}

#[derive(clap::Args)]
struct CreateArgs {
    /// URL of the endpoint.
    #[arg(value_name = "URL")]
    target: String,
    /// Events to send, separated by commas: job.succeeded, job.failed, job.retrying, job.cancelled,
    /// alert.fired, alert.renotified, alert.resolved, endpoint.disabled [default: the first two].
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<EventType>>,
    /// Body format: standard (Standard Webhooks), cloudevents (CloudEvents 1.0), or slack for one line
    /// of text [default: standard].
    #[arg(long)]
    format: Option<BodyFormat>,
    /// Description of the endpoint.
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// Retry policy of deliveries: a preset name, or JSON [default: webhook].
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    #[command(flatten)]
    headers: HeaderArgs,
    /// Create it for this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(clap::Args)]
struct EditArgs {
    /// Id or URL of the endpoint.
    #[arg(value_name = "ENDPOINT")]
    id: String,
    /// New URL, also used for waiting deliveries.
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Events to send, separated by commas.
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<EventType>>,
    /// Body format: standard, cloudevents or slack.
    #[arg(long)]
    format: Option<BodyFormat>,
    /// Description of the endpoint.
    #[arg(long)]
    description: Option<String>,
    /// Retry policy of future deliveries: a preset name, or JSON.
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    #[command(flatten)]
    headers: HeaderArgs,
}

impl Verb {
    /// The endpoint that is named, by its id or its URL.
    fn endpoint(&mut self) -> Option<&mut String> {
        match self {
            Verb::List { .. } | Verb::Create(_) | Verb::Resend { .. } => None,
            Verb::Edit(edit) => Some(&mut edit.id),
            Verb::Show { id }
            | Verb::Enable { id }
            | Verb::Disable { id }
            | Verb::Test { id, .. }
            | Verb::Deliveries { id, .. }
            | Verb::Delete { id, .. }
            | Verb::Rotate { id, .. } => Some(id),
        }
    }
}

pub async fn run(mut args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    if let Some(name) = args.verb.endpoint() {
        *name = endpoint_id(&server, name).await?;
    }
    match args.verb {
        Verb::List { tenant } => {
            let list = all_endpoints(&server, tenant).await?;
            server.print(&list, print_list)
        }
        Verb::Create(create) => {
            let request = client.create_endpoint(&create.request()?);
            server.show(request, |it| print_secret(it, "created")).await
        }
        Verb::Rotate { id, overlap } => {
            let rotation = RotateSecretRequest {
                overlap: overlap.map(|overlap| overlap.0.into()),
                ..RotateSecretRequest::default()
            };
            let request = client.rotate_endpoint_secret(&id, &rotation);
            server
                .show(request, |it| print_secret(it, "has a new secret"))
                .await
        }
        Verb::Show { id } => server.show(client.get_endpoint(&id), print_facts).await,
        Verb::Edit(edit) => change(&server, client.edit_endpoint(&edit.id, &edit.request()?)).await,
        Verb::Enable { id } => change(&server, client.enable_endpoint(&id)).await,
        Verb::Disable { id } => change(&server, client.disable_endpoint(&id)).await,
        Verb::Test { id, detach } => {
            let request = client.test_endpoint(&id);
            if detach || server.json {
                return print_delivery(&server, request).await;
            }
            let delivery = server.fetch(request).await?;
            follow_job(&server, &delivery.id.to_string()).await
        }
        Verb::Deliveries { id, page } => {
            let query = PageQuery {
                limit: Some(page.limit),
                after: page.after,
            };
            server
                .show(client.list_deliveries(&id, &query), |it| {
                    print_jobs(it, "no deliveries")
                })
                .await
        }
        Verb::Resend { id } => print_delivery(&server, client.resend_delivery(&id)).await,
        Verb::Delete { id, confirm } => {
            server.confirm_in_production(&format!("delete endpoint {id}?"), confirm.yes)?;
            if server.call(client.delete_endpoint(&id)).await?.is_some() {
                print_line!("{id} deleted")?;
            }
            Ok(())
        }
    }
}

async fn all_endpoints(server: &Server, tenant: Option<String>) -> anyhow::Result<EndpointList> {
    let list = |query: &_| server.client.list_endpoints(query);
    server.fetch_all(tenant.as_ref(), list).await
}

/// The id of an endpoint that is named by its id or its URL.
async fn endpoint_id(server: &Server, text: &str) -> anyhow::Result<String> {
    if !text.contains("://") {
        return Ok(text.to_owned());
    }
    let mut list = all_endpoints(server, None).await?;
    list.endpoints.retain(|endpoint| endpoint.url == text);
    let ids = list.endpoints.iter().map(|endpoint| endpoint.id);
    the_only_one(ids, "endpoint", text)
}

async fn change(server: &Server, request: Request<EndpointBody>) -> anyhow::Result<()> {
    server.show(request, print_facts).await
}

async fn print_delivery(server: &Server, request: Request<JobBody>) -> anyhow::Result<()> {
    if let Some(delivery) = server.call(request).await? {
        print_line!(
            "{} queued; show it with: steadfast jobs show {}",
            delivery.id,
            delivery.id
        )?;
        print_waits(&delivery)?;
    }
    Ok(())
}

fn print_facts(endpoint: &EndpointBody) -> anyhow::Result<()> {
    let state = match (endpoint.disabled, &endpoint.disabled_reason) {
        (false, _) => "enabled".to_owned(),
        (true, None) => "disabled: its deliveries wait".to_owned(),
        (true, Some(reason)) => format!("disabled: {reason}"),
    };
    print_line!("{} {state}", endpoint.id)?;
    let headers = endpoint.headers.iter().map(|header| match &header.secret {
        Some(secret) => format!("{} (secret {secret})", header.name),
        None => header.name.clone(),
    });
    let headers: Vec<String> = headers.collect();
    let events: Vec<&str> = endpoint.events.iter().map(|event| event.as_str()).collect();
    for (name, fact) in [
        ("url", endpoint.url.as_str()),
        ("events", &events.join(", ")),
        ("format", endpoint.format.as_str()),
        ("headers", &headers.join(", ")),
        ("about", &endpoint.description),
    ] {
        if !fact.is_empty() {
            print_line!("  {name:<7} {fact}")?;
        }
    }
    Ok(())
}

impl EditArgs {
    fn request(&self) -> anyhow::Result<EditEndpointRequest> {
        Ok(EditEndpointRequest {
            url: self.to.clone(),
            description: self.description.clone(),
            events: self.events.clone(),
            format: self.format,
            retry: self.retry.clone().map(|retry| retry.0),
            headers: self.headers.read()?,
        })
    }
}

impl CreateArgs {
    fn request(self) -> anyhow::Result<CreateEndpointRequest> {
        Ok(CreateEndpointRequest {
            headers: self.headers.read()?.unwrap_or_default(),
            url: self.target,
            description: self.description,
            events: self.events,
            format: self.format,
            retry: self.retry.unwrap_or_default().0,
            tenant: self.tenant,
            ..CreateEndpointRequest::default()
        })
    }
}

fn print_secret(endpoint: &EndpointWithSecret, what: &str) -> anyhow::Result<()> {
    let id = endpoint.endpoint.id;
    print_line!("{id} {what}; this secret will not be shown again:")?;
    Ok(print_line!("{}", endpoint.secret)?)
}

fn print_list(list: &EndpointList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.endpoints,
        "no endpoints",
        [
            "id", "status", "tenant", "url", "events", "format", "secrets", "age",
        ],
        None,
        |endpoint| {
            let events: Vec<&str> = endpoint.events.iter().map(|event| event.as_str()).collect();
            vec![
                endpoint.id.to_string(),
                if endpoint.disabled {
                    "disabled"
                } else {
                    "enabled"
                }
                .to_owned(),
                endpoint.tenant.to_string(),
                endpoint.url.clone(),
                events.join(","),
                endpoint.format.to_string(),
                endpoint.live_secrets.to_string(),
                age(endpoint.created_at, now),
            ]
        },
    )
}
