//! `steadfast endpoints`: URLs that receive webhooks and alerts.

use clap::Subcommand;
use steadfast_api::{
    CreateEndpointRequest, EndpointList, EndpointWithSecret, RotateSecretRequest, TenantPageQuery,
};
use steadfast_core::{BodyFormat, EventType};

use crate::{
    output::{self, print_line},
    server_args::ServerArgs,
    settings::{DurationArg, RetryArg},
    show::{age, now, plain_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://hooks.slack.com/… --format slack --events alert.fired,alert.resolved\n  steadfast endpoints rotate end_…"
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
        /// Only this tenant; for keys that see all tenants.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Send webhooks or alerts to a URL. The secret that signs them is shown once.
    #[command(
        after_help = "Examples:\n  steadfast endpoints create https://example.com/steadfast\n  steadfast endpoints create https://example.com/oncall --events alert.fired,alert.resolved"
    )]
    Create(Box<CreateArgs>),
    /// Delete an endpoint; its deliveries are cancelled.
    #[command(after_help = "Example:\n  steadfast endpoints delete end_…")]
    Delete { id: String },
    /// Create a new secret; the old one signs beside it for a while.
    #[command(after_help = "Example:\n  steadfast endpoints rotate end_… --overlap 2d")]
    Rotate {
        id: String,
        /// How long the old secret signs beside the new one [default: 24h].
        #[arg(long, value_name = "DURATION")]
        overlap: Option<DurationArg>,
    },
}

#[derive(clap::Args)]
struct CreateArgs {
    /// The URL that receives them.
    #[arg(value_name = "URL")]
    target: String,
    /// Which events, separated by commas: job.succeeded, job.failed, job.retrying, job.cancelled,
    /// alert.fired, alert.renotified, alert.resolved [default: the first two].
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<EventType>>,
    /// standard (Standard Webhooks), or slack for one line of text [default: standard].
    #[arg(long)]
    format: Option<BodyFormat>,
    /// A description for people.
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// The retry policy of deliveries: a preset's name, or JSON [default: webhook].
    #[arg(long, value_name = "POLICY")]
    retry: Option<RetryArg>,
    /// For this tenant; for keys that see all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    match args.verb {
        Verb::List { tenant } => {
            let page = |after| TenantPageQuery {
                tenant: tenant.clone(),
                after,
                ..TenantPageQuery::default()
            };
            let list = server
                .fetch_pages(|after| client.list_endpoints(&page(after)))
                .await?;
            match server.json {
                true => output::print_json(&list),
                false => print_list(&list),
            }
        }
        Verb::Create(create) => {
            let request = client.create_endpoint(&create.request());
            match server.call(request).await? {
                Some(created) => print_secret(&created, "created"),
                None => Ok(()),
            }
        }
        Verb::Rotate { id, overlap } => {
            let rotation = RotateSecretRequest {
                overlap: overlap.map(|overlap| overlap.0.into()),
                ..RotateSecretRequest::default()
            };
            let request = client.rotate_endpoint_secret(&id, &rotation);
            match server.call(request).await? {
                Some(rotated) => print_secret(&rotated, "has a new secret"),
                None => Ok(()),
            }
        }
        Verb::Delete { id } => {
            if server.call(client.delete_endpoint(&id)).await?.is_some() {
                print_line!("{id} deleted")?;
            }
            Ok(())
        }
    }
}

impl CreateArgs {
    fn request(self) -> CreateEndpointRequest {
        CreateEndpointRequest {
            url: self.target,
            description: self.description,
            events: self.events,
            format: self.format,
            retry: self.retry.unwrap_or_default().0,
            tenant: self.tenant,
            ..CreateEndpointRequest::default()
        }
    }
}

fn print_secret(endpoint: &EndpointWithSecret, what: &str) -> anyhow::Result<()> {
    let id = endpoint.endpoint.id;
    print_line!("{id} {what}; the secret is shown only this once:")?;
    Ok(print_line!("{}", endpoint.secret)?)
}

fn print_list(list: &EndpointList) -> anyhow::Result<()> {
    if list.endpoints.is_empty() {
        return Ok(print_line!("no endpoints")?);
    }
    let now = now();
    let mut table = plain_table(["id", "tenant", "url", "events", "format", "secrets", "age"]);
    for endpoint in &list.endpoints {
        let events: Vec<&str> = endpoint.events.iter().map(|event| event.as_str()).collect();
        table.add_row(vec![
            endpoint.id.to_string(),
            endpoint.tenant.to_string(),
            endpoint.url.clone(),
            events.join(","),
            endpoint.format.to_string(),
            endpoint.live_secrets.to_string(),
            age(endpoint.created_at, now),
        ]);
    }
    Ok(print_line!("{}", table_lines(&table))?)
}
