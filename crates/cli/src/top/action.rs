//! What a key changes on the server, after a question.

use steadfast_api::{DestinationBody, HoldDestinationRequest, QueueBody, TenantQuery};

use crate::server_args::Server;

/// What a row is about. It stays selected when the rows change places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Queue { tenant: String, name: String },
    Destination(String),
}

impl Subject {
    pub fn of_queue(queue: &QueueBody) -> Self {
        Self::Queue {
            tenant: queue.tenant.clone(),
            name: queue.name.clone(),
        }
    }

    pub fn of_destination(destination: &DestinationBody) -> Self {
        Self::Destination(destination.destination.clone())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Pause { tenant: String, queue: String },
    Resume { tenant: String, queue: String },
    Hold(String),
    Release(String),
}

impl Action {
    pub fn question(&self) -> String {
        match self {
            Self::Pause { tenant, queue } => {
                format!("Pause queue {queue} of {tenant}? Its jobs wait until it is resumed.")
            }
            Self::Resume { tenant, queue } => format!("Resume queue {queue} of {tenant}?"),
            Self::Hold(origin) => {
                format!("Hold {origin} for all tenants? No jobs start for it until released.")
            }
            Self::Release(origin) => {
                format!("Release {origin} for all tenants? Starts ramp up gradually.")
            }
        }
    }

    /// Sends it, and says what was done.
    pub async fn send(&self, server: &Server) -> anyhow::Result<String> {
        let client = &server.client;
        let of = |tenant: &String| TenantQuery {
            tenant: Some(tenant.clone()),
        };
        match self {
            Self::Pause { tenant, queue } => {
                let request = client.pause_queue(queue, &of(tenant));
                server.send(request).await?;
                Ok(format!("queue {queue} is paused"))
            }
            Self::Resume { tenant, queue } => {
                let request = client.resume_queue(queue, &of(tenant));
                server.send(request).await?;
                Ok(format!("queue {queue} is resumed"))
            }
            Self::Hold(origin) => {
                let request = HoldDestinationRequest::default();
                server
                    .send(client.hold_destination(origin, &request))
                    .await?;
                Ok(format!("{origin} is held"))
            }
            Self::Release(origin) => {
                server.send(client.release_destination(origin)).await?;
                Ok(format!("{origin} is released"))
            }
        }
    }
}
