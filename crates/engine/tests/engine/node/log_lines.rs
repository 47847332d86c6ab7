//! The log lines that operators look for, in the words that are promised.

use std::{cell::RefCell, io, sync::Once, time::Duration};

use steadfast_core::{Jitter, JobId, PolicyPatch};
use steadfast_engine::{JobKind as _, ScheduleRequest};
use steadfast_store::JobPageRequest;

use crate::common::{fails, steady, test_engine};

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps what the engine logs on this thread. There is one subscriber for all: with one for each test,
/// what several tests log at the same time may reach none.
#[derive(Clone, Copy)]
struct ThreadLog;

impl ThreadLog {
    fn start() -> Self {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            tracing_subscriber::fmt()
                .with_writer(|| Self)
                .with_ansi(false)
                .without_time()
                .with_target(false)
                .init();
        });
        LOG.with_borrow_mut(Vec::clear);
        Self
    }

    /// The lines about failures, with ids masked.
    fn lines(self, job: JobId) -> Vec<String> {
        let log = LOG.with_borrow(|log| String::from_utf8(log.clone()).unwrap());
        let lines = log.lines().filter(|line| line.contains(" failed"));
        lines
            .map(|line| line.trim().replace(&job.to_string(), "job_…"))
            .collect()
    }
}

impl io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A thread that ends may still log: no test reads that.
        let _ = LOG.try_with(|log| log.borrow_mut().extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn assert_lines(lines: &[String], expected: &[&str]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{expected:?} is not in {line:?}");
    }
}

#[tokio::test]
async fn a_job_that_is_given_up_logs_each_retry_and_where_it_went() {
    let log = ThreadLog::start();
    let engine = test_engine();
    let request = fails(99).job().retry(steady(2));
    let id = engine.client().enqueue(request).await.unwrap();
    engine.run_to_end().await.unwrap();
    let first_budget = [
        "INFO job job_… failed, scheduling retry 1/2 in 1s (at 2026-01-01T00:00:01Z)",
        "INFO job job_… failed, scheduling retry 2/2 in 2s (at 2026-01-01T00:00:03Z)",
        "WARN job job_… failed after 2 retries, moved to the dead-letter queue",
    ];
    assert_lines(&log.lines(id), &first_budget);
    for field in [
        "tenantId=default",
        "jobId=job_…",
        "attempt=1",
        "nextRunAt=2026-01-01T00:00:01Z",
    ] {
        assert!(log.lines(id)[0].contains(field), "{field}");
    }

    // A job that a person requeues counts from the beginning again.
    engine.client().retry(id).await.unwrap();
    engine.run_to_end().await.unwrap();
    let expected = [
        "scheduling retry 1/2 in 1s (at 2026-01-01T00:00:04Z)",
        "scheduling retry 2/2 in 2s (at 2026-01-01T00:00:06Z)",
        "failed after 2 retries, moved to the dead-letter queue",
    ];
    assert_lines(&log.lines(id)[3..], &expected);
}

#[tokio::test]
async fn a_run_of_a_schedule_logs_the_next_occurrence() {
    let log = ThreadLog::start();
    let engine = test_engine();
    let job = fails(99).job().retry(steady(1));
    let request = ScheduleRequest::cron("tens", "*/10 * * * * *", job);
    let client = engine.client();
    client.schedule(request).await.unwrap();
    engine.advance(Duration::from_secs(15)).await.unwrap();
    let dead_letters = client.dead_letters(JobPageRequest::first(9)).await.unwrap();
    let id = dead_letters.items[0].id;
    let expected = [
        "failed, scheduling retry 1/1 in 1s (at 2026-01-01T00:00:11Z)",
        "failed after 1 retry, rescheduled for next occurrence: 2026-01-01T00:00:20Z",
    ];
    assert_lines(&log.lines(id), &expected);
}

#[tokio::test]
async fn a_delay_is_rounded_for_people() {
    let log = ThreadLog::start();
    let engine = test_engine();
    let delay = Duration::from_micros(234_257_458);
    let policy = PolicyPatch::fixed(delay).jitter(Jitter::None);
    let id = engine
        .client()
        .enqueue(fails(1).job().retry(policy))
        .await
        .unwrap();
    engine.run_due().await.unwrap();
    assert_lines(&log.lines(id), &["scheduling retry 1/3 in 3m 54s (at "]);
}
