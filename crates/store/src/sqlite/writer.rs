//! The one writer: requests that wait together share one transaction and one fsync.
//!
//! A commit costs the same for one job as for a thousand, so while the disk is busy with one
//! transaction the next one gathers. Nobody is answered before the commit that holds the
//! change has returned.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{fault::Fault, session::Session};
use crate::{Clock, StoreError, Waker};

/// What one transaction takes on at most, so that its callers do not wait too long.
const REQUESTS_MAX: usize = 512;
const ROWS_MAX: usize = 4_096;

/// How often an idle writer looks for what other processes have written.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Something to do in a transaction, and somebody who waits for it.
pub(super) trait Work: Send {
    /// Does it without a transaction if it can, and says whether it could.
    fn peek(&mut self, session: &mut Session<'_>) -> Result<bool, Fault>;
    /// Does it. May be called again after a rollback.
    fn run(&mut self, session: &mut Session<'_>) -> Result<(), Fault>;
    /// Tells the caller, after the commit.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
    /// About how many rows it touches.
    fn rows(&self) -> usize;
    /// The caller has gone away.
    fn is_abandoned(&self) -> bool;
}

/// A verb with its arguments.
pub(super) struct Call<T, Peek, Run> {
    pub peek: Peek,
    pub run: Run,
    pub rows: usize,
    pub value: Option<T>,
    pub reply: oneshot::Sender<Result<T, StoreError>>,
    /// Gives the place in the queue back when the call is answered.
    pub _place: OwnedSemaphorePermit,
}

impl<T, Peek, Run> Work for Call<T, Peek, Run>
where
    T: Send,
    Peek: FnMut(&mut Session<'_>) -> Result<Option<T>, Fault> + Send,
    Run: FnMut(&mut Session<'_>) -> Result<T, Fault> + Send,
{
    fn peek(&mut self, session: &mut Session<'_>) -> Result<bool, Fault> {
        self.value = (self.peek)(session)?;
        Ok(self.value.is_some())
    }

    fn run(&mut self, session: &mut Session<'_>) -> Result<(), Fault> {
        self.value = Some((self.run)(session)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        let answer = match (failed, self.value) {
            (Some(error), _) => Err(error),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(StoreError::Broken("a request was not run".to_owned())),
        };
        // A caller that does not wait any more will find out from what is stored.
        let _ = self.reply.send(answer);
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

pub(super) struct Writer {
    pub clock: Arc<dyn Clock>,
    pub waker: Arc<Waker>,
    pub transactions: Arc<AtomicU64>,
    pub data_version: i64,
}

type Requests = Vec<Box<dyn Work>>;

enum Failed {
    /// One request failed, and took the others in its transaction with it.
    Run(Fault),
    /// The transaction itself could not begin or end.
    Whole(Fault),
}

impl Writer {
    /// Serves until every sender is gone and the queue is empty.
    pub(super) fn run(self, conn: &Connection, queue: &Receiver<Box<dyn Work>>) {
        let mut session = Session::new(conn, self.clock.now(), self.data_version);
        loop {
            match queue.recv_timeout(LOOK_EVERY) {
                Ok(first) => self.serve(&mut session, gather(first, queue)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = session.look() {
                        tracing::warn!(%error, "cannot look for changes by other processes");
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.wake_if_due(&mut session);
        }
    }

    fn serve(&self, session: &mut Session<'_>, requests: Requests) {
        session.now = self.clock.now();
        let mut requests = peeked(session, requests);
        if requests.is_empty() {
            return;
        }
        match self.transact(session, &mut requests) {
            Ok(()) => answer(requests, None),
            Err(Failed::Run(_)) if requests.len() > 1 => {
                for request in requests {
                    self.serve_alone(session, request);
                }
            }
            Err(Failed::Run(fault) | Failed::Whole(fault)) => answer(requests, Some(&fault)),
        }
    }

    /// Only the request at fault fails; the others had bad company.
    fn serve_alone(&self, session: &mut Session<'_>, request: Box<dyn Work>) {
        let mut alone = vec![request];
        match self.transact(session, &mut alone) {
            Ok(()) => answer(alone, None),
            Err(Failed::Run(fault) | Failed::Whole(fault)) => answer(alone, Some(&fault)),
        }
    }

    fn transact(&self, session: &mut Session<'_>, requests: &mut Requests) -> Result<(), Failed> {
        let outcome = self.run_all(session, requests);
        match &outcome {
            Ok(()) => {
                self.transactions.fetch_add(1, Ordering::Relaxed);
                self.wake_if_due(session);
            }
            Err(Failed::Run(fault) | Failed::Whole(fault)) => {
                tracing::warn!(%fault, requests = requests.len(), "a transaction was rolled back");
                session.roll_back();
            }
        }
        outcome
    }

    fn run_all(&self, session: &mut Session<'_>, requests: &mut Requests) -> Result<(), Failed> {
        session.begin().map_err(Failed::Whole)?;
        // The lock may have been long in coming, and a lease counts from when it is given.
        session.now = self.clock.now();
        for request in requests {
            request.run(session).map_err(Failed::Run)?;
        }
        session.commit().map_err(Failed::Whole)
    }

    fn wake_if_due(&self, session: &mut Session<'_>) {
        if std::mem::take(&mut session.due_sooner) {
            self.waker.wake();
        }
    }
}

/// Everything that waits already, within bounds.
fn gather(first: Box<dyn Work>, queue: &Receiver<Box<dyn Work>>) -> Requests {
    let mut rows = first.rows();
    let mut requests = vec![first];
    while requests.len() < REQUESTS_MAX && rows < ROWS_MAX {
        let Ok(request) = queue.try_recv() else {
            break;
        };
        rows += request.rows();
        requests.push(request);
    }
    // Claiming for somebody who has left would park the jobs until their leases run out.
    requests.retain(|request| !request.is_abandoned());
    requests
}

/// Answers what needs no transaction, unless something else needs one anyway.
fn peeked(session: &mut Session<'_>, requests: Requests) -> Requests {
    let mut rest = Vec::with_capacity(requests.len());
    let mut waiting = requests.into_iter();
    for mut request in waiting.by_ref() {
        if !matches!(request.peek(session), Ok(true)) {
            rest.push(request);
            break;
        }
        request.answer(None);
    }
    rest.extend(waiting);
    rest
}

fn answer(requests: Requests, fault: Option<&Fault>) {
    for request in requests {
        request.answer(fault.map(Fault::to_store_error));
    }
}
