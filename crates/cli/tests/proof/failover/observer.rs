//! Watches from outside which server is the primary.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{runtime::Runtime, time};
use tokio_postgres::{Client, NoTls};

use super::cluster::{Cluster, MACHINES};

const PAUSE: Duration = Duration::from_millis(20);
/// A server without an answer is asked again on a new connection.
const ANSWER: Duration = Duration::from_secs(1);

pub struct Observer {
    runtime: Runtime,
    /// When servers that were standbys began to take writes.
    promotions: Arc<Mutex<Vec<Instant>>>,
}

impl Observer {
    pub fn start(cluster: &Cluster) -> Self {
        let runtime = Runtime::new().unwrap();
        let promotions = Arc::new(Mutex::new(Vec::new()));
        for machine in MACHINES {
            runtime.spawn(watch(cluster.words(machine), Arc::clone(&promotions)));
        }
        Self {
            runtime,
            promotions,
        }
    }

    pub fn promoted_since(&self, moment: Instant) -> Option<Instant> {
        let promotions = self.promotions.lock().unwrap();
        promotions.last().copied().filter(|at| *at > moment)
    }

    /// Runs a statement of an administrator.
    pub fn run(&self, server: &str, sql: &str) {
        self.runtime.block_on(async {
            let client = connect(server).await.unwrap();
            client.batch_execute(sql).await.unwrap();
        });
    }
}

async fn connect(server: &str) -> Option<Client> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.ok()?;
    tokio::spawn(connection);
    Some(client)
}

async fn watch(server: String, promotions: Arc<Mutex<Vec<Instant>>>) {
    let mut was_standby = false;
    loop {
        let Ok(Some(client)) = time::timeout(ANSWER, connect(&server)).await else {
            time::sleep(PAUSE).await; // sleep: between looks at a server
            continue;
        };
        let ask = || client.query_one("SELECT pg_is_in_recovery()", &[]);
        while let Ok(Ok(row)) = time::timeout(ANSWER, ask()).await {
            let is_standby: bool = row.get(0);
            if was_standby && !is_standby {
                promotions.lock().unwrap().push(Instant::now());
            }
            was_standby = is_standby;
            time::sleep(PAUSE).await; // sleep: between looks at a server
        }
    }
}
