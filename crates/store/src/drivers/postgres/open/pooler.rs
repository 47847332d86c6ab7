//! Poolers that lend a connection of the server for one transaction at a time.
//!
//! Through such a pooler, what a session sets or listens for belongs to a connection of the server that
//! others use next. So each transaction brings its settings along, and another address leads to the
//! server itself for `LISTEN`.

use std::time::Duration;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::{connect, settings};
use crate::drivers::postgres::{driver_error::DriverError, servers::Servers};

/// Which of two connections is asked, one after the other. Not in turns: a pooler with two connections
/// to the server may lend them in turns, too.
const ASKED: [usize; 8] = [0, 1, 0, 0, 1, 1, 0, 1];

/// The settings that each transaction needs if the address leads through a pooler.
pub(crate) async fn transaction_settings(
    servers: &Servers,
    timeout: Duration,
    is_known: bool,
) -> Result<Option<String>, DriverError> {
    if !is_known && !is_pooled(servers).await? {
        return Ok(None);
    }
    let mut settings = settings("SET LOCAL", timeout);
    let client = connect(servers).await?;
    if show(&client, "SHOW synchronous_commit").await? == "off" {
        settings += " SET LOCAL synchronous_commit = on;";
    }
    Ok(Some(settings))
}

/// Whether two connections reach the same process of the server, or one of them several.
async fn is_pooled(servers: &Servers) -> Result<bool, DriverError> {
    let clients = [connect(servers).await?, connect(servers).await?];
    let mut found: [Option<String>; 2] = [None, None];
    for place in ASKED {
        let process = show(&clients[place], "SELECT pg_backend_pid()").await?;
        let others = found[1 - place].as_ref();
        let own = found[place].as_ref();
        if others == Some(&process) || own.is_some_and(|own| *own != process) {
            return Ok(true);
        }
        found[place] = Some(process);
    }
    Ok(false)
}

/// One value, without a prepared statement.
async fn show(client: &Client, sql: &str) -> Result<String, DriverError> {
    let answer = client.simple_query(sql).await?;
    let value = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    value
        .map(str::to_owned)
        .ok_or_else(|| DriverError::unreadable("answer", "it has no row"))
}
