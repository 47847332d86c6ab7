//! The one writer: requests that wait together share one transaction and one fsync.
//!
//! A commit costs the same for one job as for a thousand, so while the disk is busy with one
//! transaction the next one collects requests. A caller is answered only after the commit that
//! holds its change has returned.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
};

use rusqlite::Connection;
use steadfast_core::NewJob;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    driver_error::{DriverError, shared_in_operation},
    enqueue,
    log_file::LogWatch,
    log_mark::Checkpointer,
    names::Names,
    session::Session,
};
use crate::{
    clock::Clock,
    damage::DamageLog,
    drivers::current_gates::CurrentGates,
    drivers::sql::encryption::Cipher,
    error::StoreError,
    fair_gate::Admission,
    limits::{OTHER_PROCESSES_POLL, TRANSACTION_REQUESTS_MAX, TRANSACTION_ROWS_MAX},
    wake::Waker,
};

/// Something to do in a transaction, and a caller that waits for it.
pub(super) trait Work: Send {
    /// Does it without a transaction if it can. Answers whether it could.
    fn peek(&mut self, session: &mut Session<'_>) -> Result<bool, DriverError>;
    /// Does it. May be called again after a rollback.
    fn run(&mut self, session: &mut Session<'_>) -> Result<(), DriverError>;
    /// Answers the caller, after the commit or with an error.
    fn answer(self: Box<Self>, error: Option<&Arc<DriverError>>);
    /// About how many rows it touches.
    fn rows(&self) -> usize;
    /// It may share the transaction of requests that came before it.
    fn can_join(&self) -> bool {
        true
    }
    /// The caller does not wait any more.
    fn is_abandoned(&self) -> bool;
    /// What is only an enqueue is stored together with those that follow it, and then accepts its
    /// answer instead of running.
    fn new_jobs(&self) -> Option<&[NewJob]> {
        None
    }
    fn accept(&mut self, _answer: enqueue::Answer) {}
}

/// A caller that waits for its answer.
pub(super) struct Caller<T> {
    pub operation: &'static str,
    pub reply: oneshot::Sender<Result<T, StoreError>>,
    /// Released when the request is answered.
    pub _permit: OwnedSemaphorePermit,
    /// The same: room that its tenant has.
    pub _admission: Option<Admission>,
}

impl<T> Caller<T> {
    fn answer(self, value: Option<T>, error: Option<&Arc<DriverError>>) {
        let operation = self.operation;
        let answer = match (error, value) {
            (Some(error), _) => Err(shared_in_operation(error, operation)),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(DriverError::NotRun.in_operation(operation)),
        };
        // A caller that does not wait any more learns it from what is stored.
        let _ = self.reply.send(answer);
    }
}

/// A verb with its arguments.
pub(super) struct Request<T, Peek, Run> {
    pub peek: Peek,
    pub run: Run,
    pub rows: usize,
    pub can_join: bool,
    pub value: Option<T>,
    pub caller: Caller<T>,
}

impl<T, Peek, Run> Work for Request<T, Peek, Run>
where
    T: Send,
    Peek: FnMut(&mut Session<'_>) -> Result<Option<T>, DriverError> + Send,
    Run: FnMut(&mut Session<'_>) -> Result<T, DriverError> + Send,
{
    fn peek(&mut self, session: &mut Session<'_>) -> Result<bool, DriverError> {
        self.value = (self.peek)(session)?;
        Ok(self.value.is_some())
    }

    fn run(&mut self, session: &mut Session<'_>) -> Result<(), DriverError> {
        self.value = Some((self.run)(session)?);
        Ok(())
    }

    fn answer(self: Box<Self>, error: Option<&Arc<DriverError>>) {
        self.caller.answer(self.value, error);
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn can_join(&self) -> bool {
        self.can_join
    }

    fn is_abandoned(&self) -> bool {
        self.caller.reply.is_closed()
    }
}

/// New jobs.
pub(super) struct EnqueueRequest {
    pub jobs: Vec<NewJob>,
    pub answer: Option<enqueue::Answer>,
    pub caller: Caller<enqueue::Answer>,
}

impl Work for EnqueueRequest {
    fn peek(&mut self, _session: &mut Session<'_>) -> Result<bool, DriverError> {
        Ok(false)
    }

    fn run(&mut self, session: &mut Session<'_>) -> Result<(), DriverError> {
        self.answer = Some(enqueue::enqueue(session, &self.jobs)?);
        Ok(())
    }

    fn answer(self: Box<Self>, error: Option<&Arc<DriverError>>) {
        self.caller.answer(self.answer, error);
    }

    fn rows(&self) -> usize {
        self.jobs.len()
    }

    fn is_abandoned(&self) -> bool {
        self.caller.reply.is_closed()
    }

    fn new_jobs(&self) -> Option<&[NewJob]> {
        Some(&self.jobs)
    }

    fn accept(&mut self, answer: enqueue::Answer) {
        self.answer = Some(answer);
    }
}

pub(super) struct Writer {
    pub clock: Arc<dyn Clock>,
    pub waker: Arc<Waker>,
    pub transactions: Arc<AtomicU64>,
    pub data_version: i64,
    pub damage: Arc<DamageLog>,
    pub cipher: Cipher,
    pub gates: Arc<CurrentGates>,
    /// The file.
    pub path: PathBuf,
}

type Requests = Vec<Box<dyn Work>>;

/// Requests in the order of their arrival.
struct Queue {
    waiting: Receiver<Box<dyn Work>>,
    /// A request that begins the next transaction.
    next: Option<Box<dyn Work>>,
}

impl Queue {
    fn new(waiting: Receiver<Box<dyn Work>>) -> Self {
        let next = None;
        Self { waiting, next }
    }

    /// The request that begins a transaction.
    fn wait(&mut self) -> Result<Box<dyn Work>, RecvTimeoutError> {
        let wait = || self.waiting.recv_timeout(OTHER_PROCESSES_POLL);
        self.next.take().map_or_else(wait, Ok)
    }

    /// A request that joins a transaction, if the next one can.
    fn join(&mut self) -> Option<Box<dyn Work>> {
        if self.next.is_some() {
            return None;
        }
        let request = self.waiting.try_recv().ok()?;
        if !request.can_join() {
            self.next = Some(request);
            return None;
        }
        Some(request)
    }
}

/// Why a transaction was rolled back.
enum TransactionError {
    /// One request failed, and the others of its transaction with it.
    Request(DriverError),
    /// The transaction itself could not begin or end.
    Transaction(DriverError),
}

impl TransactionError {
    fn into_cause(self) -> DriverError {
        match self {
            Self::Request(error) | Self::Transaction(error) => error,
        }
    }

    fn cause(&self) -> &DriverError {
        match self {
            Self::Request(error) | Self::Transaction(error) => error,
        }
    }
}

impl Writer {
    /// Serves until every sender is gone and the queue is empty, panics or not: a thread that
    /// ended would leave a node that looks alive and cannot write.
    pub(super) fn run(
        self,
        conn: &Connection,
        checkpointer: Checkpointer,
        queue: Receiver<Box<dyn Work>>,
    ) {
        let mut queue = Queue::new(queue);
        let mut session = Session::new(
            conn,
            self.clock.now(),
            self.data_version,
            Arc::clone(&self.gates),
        );
        session.checkpointer = Some(checkpointer);
        session.names = Names::new(Arc::clone(&self.damage), self.cipher.clone());
        let mut log = LogWatch::new(&self.path);
        while let Err(error) = catch_panic(|| self.serve_queue(&mut session, &mut queue, &mut log))
        {
            // The requests at hand went with it, and their callers may try again.
            tracing::error!(%error, "the writer continues after a panic");
            session.roll_back();
        }
        if let Some(checkpointer) = &mut session.checkpointer {
            checkpointer.end(conn);
        }
    }

    fn serve_queue(&self, session: &mut Session<'_>, queue: &mut Queue, log: &mut LogWatch) {
        loop {
            log.check();
            match queue.wait() {
                // Jobs claimed for a caller that has left would wait until their leases expire.
                Ok(first) if first.is_abandoned() => {}
                Ok(first) => self.serve(session, first, queue),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = session.notice_other_writers() {
                        tracing::warn!(%error, "cannot check for changes by other processes");
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.wake_if_due(session);
        }
    }

    fn serve(&self, session: &mut Session<'_>, first: Box<dyn Work>, queue: &mut Queue) {
        let mut requests = vec![first];
        collect(&mut requests, queue);
        session.now = self.clock.now();
        let mut requests = answer_by_peeking(session, requests);
        if requests.is_empty() {
            return;
        }
        match self.transact(session, &mut requests, Some(queue)) {
            Ok(()) => answer(requests, None),
            Err(TransactionError::Request(_)) if requests.len() > 1 => {
                for request in requests {
                    self.serve_alone(session, request);
                }
            }
            Err(error) => answer(requests, Some(error.into_cause())),
        }
    }

    /// In a transaction of its own, so that only the request that is at fault fails.
    fn serve_alone(&self, session: &mut Session<'_>, request: Box<dyn Work>) {
        let mut alone = vec![request];
        match self.transact(session, &mut alone, None) {
            Ok(()) => answer(alone, None),
            Err(error) => answer(alone, Some(error.into_cause())),
        }
    }

    fn transact(
        &self,
        session: &mut Session<'_>,
        requests: &mut Requests,
        queue: Option<&mut Queue>,
    ) -> Result<(), TransactionError> {
        // A panic is the fault of one request, as an error is.
        let outcome = catch_panic(|| self.run_all(session, requests, queue))
            .unwrap_or_else(|panic| Err(TransactionError::Request(panic)));
        match &outcome {
            Ok(()) => {
                self.transactions.fetch_add(1, Ordering::Relaxed);
                if let Some(checkpointer) = &mut session.checkpointer {
                    checkpointer.run(session.conn);
                }
                self.wake_if_due(session);
            }
            Err(error) => {
                let error = error.cause();
                tracing::warn!(%error, requests = requests.len(), "a transaction was rolled back");
                session.roll_back();
            }
        }
        outcome
    }

    fn run_all(
        &self,
        session: &mut Session<'_>,
        requests: &mut Requests,
        mut queue: Option<&mut Queue>,
    ) -> Result<(), TransactionError> {
        session.begin().map_err(TransactionError::Transaction)?;
        // Waiting for the lock may have taken long, and a lease counts from when it is given.
        session.now = self.clock.now();
        let mut done = 0;
        while done < requests.len() {
            done += run_some(session, &mut requests[done..]).map_err(TransactionError::Request)?;
            // The commit takes longest, so requests that came meanwhile share it.
            if let Some(queue) = &mut queue
                && done == requests.len()
            {
                collect(requests, queue);
            }
        }
        session.commit().map_err(TransactionError::Transaction)
    }

    fn wake_if_due(&self, session: &mut Session<'_>) {
        if let Some(reasons) = session.take_wakes() {
            self.waker.wake_for(&reasons, session.now);
        }
    }
}

/// Runs the first of some requests, or stores all new jobs that come first, if there are several.
/// Answers how many requests that were.
fn run_some(
    session: &mut Session<'_>,
    requests: &mut [Box<dyn Work>],
) -> Result<usize, DriverError> {
    let new_jobs = requests.iter().map_while(|request| request.new_jobs());
    let new_jobs: Vec<&[NewJob]> = new_jobs.collect();
    if new_jobs.len() < 2 {
        let first = requests.first_mut();
        first.map_or(Ok(()), |request| request.run(session))?;
        return Ok(1);
    }
    let answers = enqueue::enqueue_together(session, &new_jobs)?;
    let count = answers.len();
    for (request, answer) in requests.iter_mut().zip(answers) {
        request.accept(answer);
    }
    Ok(count)
}

/// The caller rolls back what a panic left half done, in the file and in memory.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, DriverError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| DriverError::panicked(&*panic))
}

/// Adds the requests that are already waiting, within bounds.
fn collect(requests: &mut Requests, queue: &mut Queue) {
    let mut rows: usize = requests.iter().map(|request| request.rows()).sum();
    while requests.len() < TRANSACTION_REQUESTS_MAX && rows < TRANSACTION_ROWS_MAX {
        let Some(request) = queue.join() else {
            break;
        };
        if !request.is_abandoned() {
            rows += request.rows();
            requests.push(request);
        }
    }
}

/// Answers what needs no transaction, unless something else needs one anyway.
fn answer_by_peeking(session: &mut Session<'_>, requests: Requests) -> Requests {
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

fn answer(requests: Requests, error: Option<DriverError>) {
    let error = error.map(Arc::new);
    for request in requests {
        request.answer(error.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// An even number of rows cannot join.
    struct Rows(usize);

    impl Work for Rows {
        fn peek(&mut self, _session: &mut Session<'_>) -> Result<bool, DriverError> {
            Ok(false)
        }

        fn run(&mut self, _session: &mut Session<'_>) -> Result<(), DriverError> {
            Ok(())
        }

        fn answer(self: Box<Self>, _error: Option<&Arc<DriverError>>) {}

        fn rows(&self) -> usize {
            self.0
        }

        fn can_join(&self) -> bool {
            self.0 % 2 == 1
        }

        fn is_abandoned(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_page_begins_a_transaction_and_short_requests_join_it() {
        let (sender, waiting) = channel();
        for rows in [1, 3, 200, 5, 400, 7] {
            assert!(sender.send(Box::new(Rows(rows)) as Box<dyn Work>).is_ok());
        }
        let mut queue = Queue::new(waiting);
        let transactions: Vec<Vec<usize>> = (0..3)
            .map(|_| {
                let mut requests = vec![queue.wait().unwrap()];
                collect(&mut requests, &mut queue);
                requests.iter().map(|request| request.rows()).collect()
            })
            .collect();
        assert_eq!(transactions, [vec![1, 3], vec![200, 5], vec![400, 7]]);
    }
}
