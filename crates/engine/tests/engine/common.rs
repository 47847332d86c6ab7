//! Jobs and handlers that the tests share.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_core::{FailureClass, JobId};
use steadfast_engine::{Context, JobError, JobEvent, JobKind, Notice, Notices};

/// Fails the first `failures` times with `class`, then succeeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flaky {
    pub failures: u32,
    pub class: String,
}

impl JobKind for Flaky {
    const KIND: &'static str = "flaky";
}

pub fn fails(failures: u32) -> Flaky {
    Flaky {
        failures,
        class: FailureClass::ERROR.as_str().to_owned(),
    }
}

pub async fn flaky(job: Flaky, ctx: Context<Calls>) -> Result<String, JobError> {
    ctx.state().0.fetch_add(1, Ordering::SeqCst);
    if ctx.attempt() <= job.failures {
        return Err(JobError::failure(
            &job.class,
            format!("failure {}", ctx.attempt()),
        ));
    }
    Ok("done".to_owned())
}

/// How often handlers were called.
#[derive(Default)]
pub struct Calls(pub AtomicU32);

impl Calls {
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Waits for a notice, and gives up loudly when it does not come.
pub async fn notice(notices: &mut Notices, wanted: impl Fn(&Notice) -> bool) -> Notice {
    let search = async {
        loop {
            let notice = notices.next().await.expect("the engine stopped");
            if wanted(&notice) {
                return notice;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .expect("the notice did not come within 20 s")
}

pub async fn ends(notices: &mut Notices, job: JobId) -> JobEvent {
    let ended = |notice: &Notice| {
        notice.job == job
            && matches!(
                notice.event,
                JobEvent::Succeeded | JobEvent::Failed { .. } | JobEvent::Cancelled
            )
    };
    notice(notices, ended).await.event
}

pub async fn starts(notices: &mut Notices, job: JobId) -> Notice {
    notice(notices, |notice| {
        notice.job == job && matches!(notice.event, JobEvent::Started { .. })
    })
    .await
}
