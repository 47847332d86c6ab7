//! Wake-ups between nodes: one connection that listens, and speaks for this node.
//!
//! A notification takes a lock over the whole database server when its transaction commits, so
//! it is not part of the transactions that bring work. They leave word here, and this
//! connection passes it on, once for however many came together. If the node dies in between,
//! the others find the work when they next look by themselves.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use steadfast_core::Timestamp;
use tokio::{sync::Notify, time};
use tokio_postgres::{AsyncMessage, Client, Connection, Socket, tls::TlsStream};

use super::{
    fault::Fault,
    open::Address,
    wake_filter::{WakeFilter, WakeHints},
};
use crate::Waker;

/// Between two notifications of one node.
const SPACING: Duration = Duration::from_millis(50);
/// How long nothing is said before this asks whether the other side is still there.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Between attempts to connect.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// The database's time is known here to within less than this.
const CLOCK_ERROR_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Wakes {
    pub waker: Waker,
    pub told: WakeFilter,
    /// Others are to be told.
    to_tell: Notify,
}

impl Wakes {
    /// Wakes whoever these news concern, here and on other nodes.
    pub(super) fn tell(&self, news: &WakeHints, now: Timestamp) {
        if self.told.matters(news, now.plus(CLOCK_ERROR_MAX)) {
            self.wake_here();
            self.to_tell.notify_one();
        }
    }

    pub(super) fn wake_here(&self) {
        // In this order: whoever wakes is told anew, and that must not be forgotten.
        self.told.forget();
        self.waker.wake();
    }
}

/// Listens for ever, connecting again whenever the connection is lost.
pub(super) async fn run(address: Address, channel: String, wakes: Arc<Wakes>) {
    let mut backoff = BACKOFF_FIRST;
    loop {
        match address.config.connect(address.tls.clone()).await {
            Ok((client, connection)) => {
                backoff = BACKOFF_FIRST;
                let fault = serve(client, connection, &channel, &wakes).await;
                tracing::warn!(%fault, "the connection that listens was lost");
            }
            Err(error) => {
                let fault = Fault::from(error);
                tracing::warn!(%fault, "cannot listen; trying again in {backoff:?}");
            }
        }
        time::sleep(backoff).await;
        backoff = BACKOFF_MAX.min(backoff * 2);
    }
}

async fn serve<S: TlsStream + Unpin>(
    client: Client,
    mut connection: Connection<Socket, S>,
    channel: &str,
    wakes: &Wakes,
) -> Fault {
    let own_id = AtomicI32::new(0);
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let hear = async {
        while let Some(message) = messages.next().await {
            match message {
                // What this node said itself, its sleepers know.
                Ok(AsyncMessage::Notification(heard))
                    if heard.process_id() != own_id.load(Ordering::Relaxed) =>
                {
                    wakes.wake_here();
                }
                Ok(_) => {}
                Err(error) => return error.into(),
            }
        }
        Fault::Away("the server closed it".to_owned())
    };
    let speak = async {
        match speak(&client, channel, wakes, &own_id).await {
            Ok(never) => match never {},
            Err(fault) => fault,
        }
    };
    tokio::select! {
        fault = pin!(hear) => fault,
        fault = pin!(speak) => fault,
    }
}

enum Never {}

async fn speak(
    client: &Client,
    channel: &str,
    wakes: &Wakes,
    own_id: &AtomicI32,
) -> Result<Never, Fault> {
    let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
    own_id.store(row.try_get(0)?, Ordering::Relaxed);
    client.batch_execute(&format!("LISTEN {channel}")).await?;
    // Whatever was said before this moment was not heard.
    wakes.wake_here();
    let notify = format!("NOTIFY {channel}");
    loop {
        let word = time::timeout(SILENCE_MAX, wakes.to_tell.notified()).await;
        let sql = match word {
            Ok(()) => notify.as_str(),
            Err(_) => "SELECT 1",
        };
        let answer = time::timeout(ANSWER_MAX, client.batch_execute(sql)).await;
        answer.map_err(|_| Fault::Away("it does not answer".to_owned()))??;
        time::sleep(SPACING).await;
    }
}
