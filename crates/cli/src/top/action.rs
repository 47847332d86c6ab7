//! What a key changes on the server, after a question.

use steadfast_api::{DestinationBody, HoldDestinationRequest, QueueBody, TenantQuery};

use super::cells::one_line;
use crate::{server_args::Server, show::shorten_middle};

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
    /// The question in at most `width` characters. Its end is always seen, and the name of its
    /// target before what follows from a yes.
    pub fn question(&self, width: usize) -> String {
        let (verb, name, scope, effect) = match self {
            Self::Pause { tenant, queue } => (
                "Pause queue",
                queue,
                format!("of {tenant}"),
                " Its jobs wait until it is resumed.",
            ),
            Self::Resume { tenant, queue } => ("Resume queue", queue, format!("of {tenant}"), ""),
            Self::Hold(origin) => (
                "Hold",
                origin,
                "for all tenants".to_owned(),
                " No jobs start until released.",
            ),
            Self::Release(origin) => (
                "Release",
                origin,
                "for all tenants".to_owned(),
                " Starts ramp up gradually.",
            ),
        };
        let (name, scope) = (one_line(name), one_line(&scope));
        let question =
            |name: &str, scope: &str, effect: &str| format!("{verb} {name} {scope}?{effect} [y/N]");
        let whole = question(&name, &scope, effect);
        if whole.chars().count() <= width {
            return whole;
        }
        // A long tenant leaves at least half of the room to the name.
        let room = width.saturating_sub(question("", "", "").chars().count());
        let scope = shorten_middle(
            &scope,
            (room / 2).max(room.saturating_sub(name.chars().count())),
        );
        let name = shorten_middle(&name, room.saturating_sub(scope.chars().count()));
        question(&name, &scope, "")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_its_end_and_as_much_of_the_name_as_fits() {
        let (tenant, queue) = ("acme".to_owned(), "mail".to_owned());
        let hold = |origin: &str| Action::Hold(origin.to_owned());
        for (action, width, expected) in [
            (
                hold("http://127.0.0.1:3"),
                80,
                "Hold http://127.0.0.1:3 for all tenants? No jobs start until released. [y/N]",
            ),
            (
                hold("http://127.0.0.1:3"),
                60,
                "Hold http://127.0.0.1:3 for all tenants? [y/N]",
            ),
            (
                hold("https://api.a-long-name.of-a-cluster.eu-central-1.example.com:8443"),
                80,
                "Hold https://api.a-long-name.o…central-1.example.com:8443 for all tenants? [y/N]",
            ),
            (
                Action::Pause { tenant, queue },
                80,
                "Pause queue mail of acme? Its jobs wait until it is resumed. [y/N]",
            ),
        ] {
            let question = action.question(width);
            assert!(question.chars().count() <= width, "{question}");
            assert_eq!(question, expected);
        }
        let (tenant, queue) = ("t".repeat(100), "q".repeat(100));
        let question = Action::Resume { tenant, queue }.question(60);
        assert_eq!(question.chars().count(), 60, "{question}");
        assert!(
            question.contains("qqq…qqq") && question.ends_with("? [y/N]"),
            "{question}"
        );
    }
}
