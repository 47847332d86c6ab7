//! Everything in a store, read once, so that the store notes the rows it cannot read.

use std::time::Instant;

use steadfast::{
    job::{JobFilter, PageRequest},
    store::{DocumentKind, DocumentPage, JobDetail, Store, StoreError},
};

use crate::{limits::SCAN_PAGE, show::quantity};

/// What was read.
pub struct Contents {
    schedules: u64,
    /// Names of schedules that never fire again although their timetable goes on.
    pub stuck_schedules: Vec<String>,
    /// Jobs with their payloads and results.
    pub jobs: u64,
    /// All jobs, and not only those for which there was time.
    is_all: bool,
}

impl Contents {
    /// Reads settings, schedules and jobs, the newest first, until the deadline.
    pub async fn read(store: &dyn Store, deadline: Option<Instant>) -> Result<Self, StoreError> {
        let has_time = || deadline.is_none_or(|deadline| Instant::now() < deadline);
        for kind in DocumentKind::ALL {
            store.list_documents(*kind, DocumentPage::All).await?;
        }
        let mut page = PageRequest::first(SCAN_PAGE);
        let (mut schedules, mut stuck_schedules) = (0, Vec::new());
        loop {
            let listed = store.list_schedules(Default::default(), page).await?;
            schedules += listed.items.len() as u64;
            let stuck = listed
                .items
                .iter()
                .filter(|it| it.resumed_if_stuck(store.now()).is_some());
            stuck_schedules
                .extend(stuck.map(|it| format!("{} of tenant {}", it.name, it.tenant())));
            match listed.next {
                Some(next) if has_time() => page.after = Some(next),
                _ => break,
            }
        }
        let mut page = PageRequest::first(SCAN_PAGE);
        let mut jobs = 0;
        let is_all = loop {
            let listed = store.list_jobs(JobFilter::default(), page).await?;
            // Lists come without payloads. Of several jobs, one that cannot be read is left out; asked
            // for alone, it is an error.
            let ids = listed.items.iter().map(|job| job.id);
            let ids = ids.chain(listed.items.last().map(|last| last.id));
            let read = store.get_jobs(ids.collect(), JobDetail::Full).await?;
            let read = read.iter().take(listed.items.len()).flatten();
            jobs += read.count() as u64;
            match listed.next {
                Some(next) if has_time() => page.after = Some(next),
                next => break next.is_none(),
            }
        };
        Ok(Self {
            schedules,
            stuck_schedules,
            jobs,
            is_all,
        })
    }

    /// `2 schedules and the newest 300 jobs`.
    pub fn describe(&self) -> String {
        let which = if self.is_all { "" } else { "the newest " };
        let schedules = quantity(self.schedules, "schedule", "schedules");
        format!(
            "{schedules} and {which}{}",
            quantity(self.jobs, "job", "jobs")
        )
    }
}
