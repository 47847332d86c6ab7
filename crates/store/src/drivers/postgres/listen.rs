//! Wake-ups between nodes: one connection that listens, and notifies for this node.
//!
//! A notification takes a lock over the whole database server when its transaction commits, so
//! it is not part of the transactions that bring work. They leave a request here, and this
//! connection sends one notification for however many came together. If the node dies in
//! between, the others find the work when they next look by themselves.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
};

use futures_util::{StreamExt, stream};
use steadfast_core::Timestamp;
use tokio::{sync::Notify, time};
use tokio_postgres::{AsyncMessage, Client, Connection, Socket, tls::TlsStream};

use super::{
    driver_error::DriverError,
    due_cache::DueCache,
    servers::{Opened, Servers},
};
use crate::{
    limits::{
        CLOCK_ERROR_MAX, LISTEN_ANSWER_TIMEOUT, LISTEN_BACKOFF_FIRST, LISTEN_BACKOFF_MAX,
        LISTEN_SILENCE_MAX, NOTIFY_BYTES_MAX, NOTIFY_INTERVAL,
    },
    wake::{WakeReasons, Waker},
};

/// Sends messages, in order.
const NOTIFY: &str = include_str!("listen/notify.sql");

pub(super) struct Listener {
    pub waker: Waker,
    pub due: Arc<DueCache>,
    /// Without a connection that listens, nothing is sent either: each node looks for itself.
    pub listens: bool,
    /// What other nodes are to be notified of.
    unsent: Mutex<WakeReasons>,
    notify_others: Notify,
}

impl Listener {
    pub(super) fn new(due: Arc<DueCache>, listens: bool) -> Self {
        Self {
            waker: Waker::default(),
            due,
            listens,
            unsent: Mutex::default(),
            notify_others: Notify::default(),
        }
    }

    /// Wakes those whom a change concerns, here and on other nodes.
    pub(super) fn wake_if_needed(&self, hints: &WakeReasons, now: Timestamp) {
        self.learn(hints);
        if hints.is_empty() {
            return;
        }
        let concerns_others = self.waker.wake_for(hints, now.plus(CLOCK_ERROR_MAX));
        // Other nodes learn where jobs wait even if none of their callers does.
        let is_news = concerns_others || !hints.ranges().is_empty() || !hints.ended().is_empty();
        if is_news && self.listens {
            self.lock_unsent().add(hints);
            self.notify_others.notify_one();
        }
    }

    /// Takes in a change, and wakes those who wait for what gates have let through because of it.
    fn learn(&self, reasons: &WakeReasons) {
        let opened = self.due.learn(reasons);
        if !opened.is_empty() {
            self.waker.wake_for(&opened, Timestamp::EPOCH);
        }
    }

    fn take_unsent(&self) -> WakeReasons {
        std::mem::take(&mut self.lock_unsent())
    }

    fn lock_unsent(&self) -> MutexGuard<'_, WakeReasons> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens for as long as the store lives, connecting again whenever the connection is lost.
/// It leaves its server when the other connections of the store leave theirs.
pub(super) async fn run(
    listening: Arc<Servers>,
    others: Arc<Servers>,
    channel: String,
    listener: Arc<Listener>,
) {
    let mut backoff = LISTEN_BACKOFF_FIRST;
    loop {
        let generation = others.generation();
        match listening.connect().await {
            Ok(Opened {
                client, connection, ..
            }) => {
                backoff = LISTEN_BACKOFF_FIRST;
                let error = tokio::select! {
                    error = serve(client, connection, &channel, &listener) => error,
                    () = others.left(generation) => DriverError::ReadOnly,
                };
                // Connections of the pool may reach another server, whose rows may be older, before
                // this one does. What is known of gates must not count there.
                listener.due.forget();
                tracing::warn!(%error, "lost the LISTEN connection");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot LISTEN; retrying in {backoff:?}");
            }
        }
        time::sleep(backoff).await;
        backoff = LISTEN_BACKOFF_MAX.min(backoff * 2);
    }
}

async fn serve<S: TlsStream + Unpin>(
    client: Client,
    mut connection: Connection<Socket, S>,
    channel: &str,
    listener: &Listener,
) -> DriverError {
    let own_id = AtomicI32::new(0);
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let receive = async {
        while let Some(message) = messages.next().await {
            match message {
                // The fetchers of this node were woken before its own notification.
                Ok(AsyncMessage::Notification(received))
                    if received.process_id() != own_id.load(Ordering::Relaxed) =>
                {
                    // Every role of the database may send anything.
                    if let Some(reasons) = WakeReasons::from_message(received.payload()) {
                        listener.learn(&reasons);
                        listener.waker.wake_for(&reasons, Timestamp::MAX);
                    }
                }
                Ok(_) => {}
                Err(error) => return error.into(),
            }
        }
        DriverError::Disconnected
    };
    let send = async {
        match notify(&client, channel, listener, &own_id).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    };
    tokio::select! {
        error = pin!(receive) => error,
        error = pin!(send) => error,
    }
}

enum Never {}

/// Notifies other nodes when asked to, and tests the connection when it is silent.
async fn notify(
    client: &Client,
    channel: &str,
    listener: &Listener,
    own_id: &AtomicI32,
) -> Result<Never, DriverError> {
    let begin = async {
        let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
        own_id.store(row.try_get(0)?, Ordering::Relaxed);
        client.batch_execute(&format!("LISTEN {channel}")).await?;
        client.prepare(NOTIFY).await
    };
    let begun = time::timeout(LISTEN_ANSWER_TIMEOUT, begin).await;
    let notify = begun.map_err(|_| DriverError::Timeout)??;
    // Notifications from before this moment were not received.
    listener.due.forget();
    listener.waker.wake();
    loop {
        let is_silent = tokio::select! {
            () = listener.notify_others.notified() => false,
            () = time::sleep(LISTEN_SILENCE_MAX) => true,
        };
        let answer = async {
            if is_silent {
                return client.batch_execute("SELECT 1").await;
            }
            let messages = listener.take_unsent().to_messages(NOTIFY_BYTES_MAX);
            let sent = client.execute(&notify, &[&channel, &messages]).await;
            sent.map(drop)
        };
        let answer = time::timeout(LISTEN_ANSWER_TIMEOUT, answer).await;
        answer.map_err(|_| DriverError::Timeout)??;
        time::sleep(NOTIFY_INTERVAL).await;
    }
}
