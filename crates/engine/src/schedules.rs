//! What a program asks for when it makes a schedule, and what it can do with one.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Cron, Invalid, JobId, MissedTickPolicy, NewJob, OverlapPolicy, PolicyPatch, Schedule,
    ScheduleId, ScheduleName, ScheduleProgress, Tenant, Tick, TickRule, Timestamp, Timetable, Zone,
};
use steadfast_store::{
    FireRequest, FireResult, Page, PageRequest, ScheduleFilter, ScheduleSaveResult, TickRecord,
};

use crate::{Client, ClientError, JobRequest};

/// A schedule to be made, or brought in line if its name is known.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    name: String,
    rule: Result<TickRule, Invalid>,
    zone: Option<String>,
    job: JobRequest,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    overlap: OverlapPolicy,
    missed: MissedTickPolicy,
}

impl ScheduleRequest {
    /// Five or six fields (seconds first), or a name like `@hourly`.
    pub fn cron(name: &str, cron: &str, job: impl Into<JobRequest>) -> Self {
        let rule = Cron::parse(cron).map(|cron| TickRule::Cron {
            cron,
            zone: Zone::utc(),
        });
        Self::new(name, rule, job.into())
    }

    /// At equal distances, from `start_at` or from now.
    pub fn every(name: &str, every: Duration, job: impl Into<JobRequest>) -> Self {
        Self::new(name, Ok(TickRule::Every(every)), job.into())
    }

    fn new(name: &str, rule: Result<TickRule, Invalid>, job: JobRequest) -> Self {
        Self {
            name: name.to_owned(),
            rule,
            zone: None,
            job,
            start_at: None,
            end_at: None,
            max_runs: None,
            overlap: OverlapPolicy::default(),
            missed: MissedTickPolicy::default(),
        }
    }

    /// An IANA name, as `Europe/Paris`; UTC where nobody says.
    #[must_use]
    pub fn timezone(mut self, zone: &str) -> Self {
        self.zone = Some(zone.to_owned());
        self
    }

    #[must_use]
    pub fn start_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.start_at = Some(time.into());
        self
    }

    #[must_use]
    pub fn end_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.end_at = Some(time.into());
        self
    }

    #[must_use]
    pub fn max_runs(mut self, runs: u64) -> Self {
        self.max_runs = Some(runs);
        self
    }

    /// What happens at a tick while the run before it has not ended.
    #[must_use]
    pub fn overlap(mut self, overlap: OverlapPolicy) -> Self {
        self.overlap = overlap;
        self
    }

    /// What happens to ticks that nobody was there to fire.
    #[must_use]
    pub fn missed(mut self, missed: MissedTickPolicy) -> Self {
        self.missed = missed;
        self
    }

    /// The first `count` ticks after `from`.
    pub fn preview(&self, from: impl Into<Timestamp>, count: usize) -> Result<Vec<Tick>, Invalid> {
        Ok(self.timetable()?.preview(from.into(), count))
    }

    fn timetable(&self) -> Result<Timetable, Invalid> {
        let rule = in_zone(self.rule.clone()?, self.zone.as_deref())?;
        Ok(Timetable::new(rule)?
            .with_window(self.start_at, self.end_at)?
            .with_max_runs(self.max_runs)?
            .with_overlap(self.overlap)
            .with_missed(self.missed))
    }
}

/// Changes to a schedule; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct ScheduleEdit {
    pub cron: Option<String>,
    pub every: Option<Duration>,
    pub timezone: Option<String>,
    pub start_at: Option<Timestamp>,
    pub end_at: Option<Timestamp>,
    pub max_runs: Option<u64>,
    pub overlap: Option<OverlapPolicy>,
    pub missed: Option<MissedTickPolicy>,
    /// What each run looks like from now on.
    pub job: Option<JobRequest>,
}

impl ScheduleEdit {
    fn timetable(&self, now: &Timetable) -> Result<Timetable, Invalid> {
        let rule = match (&self.cron, self.every, now.rule()) {
            (Some(cron), Some(_), _) => {
                let expected = "must be absent beside every";
                return Err(Invalid::new("schedule", format!("{cron:?}"), expected));
            }
            (Some(cron), None, TickRule::Cron { zone, .. }) => TickRule::Cron {
                cron: Cron::parse(cron)?,
                zone: zone.clone(),
            },
            (Some(cron), None, TickRule::Every(_)) => TickRule::Cron {
                cron: Cron::parse(cron)?,
                zone: Zone::utc(),
            },
            (None, Some(every), _) => TickRule::Every(every),
            (None, None, rule) => rule.clone(),
        };
        let rule = in_zone(rule, self.timezone.as_deref())?;
        let start_at = self.start_at.or(now.start_at());
        Ok(Timetable::new(rule)?
            .with_window(start_at, self.end_at.or(now.end_at()))?
            .with_max_runs(self.max_runs.or(now.max_runs()))?
            .with_overlap(self.overlap.unwrap_or(now.overlap()))
            .with_missed(self.missed.unwrap_or(now.missed())))
    }
}

fn in_zone(mut rule: TickRule, name: Option<&str>) -> Result<TickRule, Invalid> {
    if let Some(name) = name {
        match &mut rule {
            TickRule::Cron { zone, .. } => *zone = Zone::parse(name)?,
            TickRule::Every(_) => {
                let expected = "must be left out: equal distances know no zone";
                return Err(Invalid::new("timezone", format!("{name:?}"), expected));
            }
        }
    }
    Ok(rule)
}

impl Client {
    /// Makes a schedule, or brings the one of that name in line: a changed timetable starts
    /// afresh from now, an unchanged one keeps its place. A paused one stays paused.
    pub async fn schedule(&self, request: ScheduleRequest) -> Result<Schedule, ClientError> {
        let name = ScheduleName::new(&request.name)?;
        let timetable = request.timetable()?;
        let template = self.template(request.job)?;
        loop {
            let filter = ScheduleFilter {
                tenant: Some(template.tenant.clone()),
                name: Some(name.clone()),
                ..ScheduleFilter::default()
            };
            let now = self.now();
            let stored = self
                .store()
                .list_schedules(filter, PageRequest::first(1))
                .await?;
            let schedule = match stored.items.into_iter().next() {
                Some(stored) => {
                    let progress = match stored.timetable == timetable {
                        true => stored.progress,
                        // The newest tick guards against a clock that is set back; a tick that
                        // waits keeps its place.
                        false => ScheduleProgress {
                            next_tick: first_tick(&name, &timetable, now)?,
                            ..stored.progress
                        },
                    };
                    Schedule {
                        progress,
                        timetable: timetable.clone(),
                        template: template.clone(),
                        ..stored
                    }
                }
                None => Schedule {
                    id: self.random().schedule_id(now),
                    name: name.clone(),
                    progress: ScheduleProgress {
                        next_tick: first_tick(&name, &timetable, now)?,
                        ..timetable.begin(now)
                    },
                    timetable: timetable.clone(),
                    template: template.clone(),
                    paused: false,
                    created_at: now,
                    revision: 0,
                },
            };
            // Someone else may change it between our reading and writing; then look again.
            if let ScheduleSaveResult::Done(schedule) = self.store().save_schedule(schedule).await?
            {
                return Ok(schedule);
            }
        }
    }

    /// What each run looks like.
    fn template(&self, job: JobRequest) -> Result<NewJob, Invalid> {
        let prepared = job.check_template().and_then(|()| self.prepare(job));
        let mut template = prepared.map_err(|error| error.within("job"))?;
        template.requested_retry = PolicyPatch::default();
        Ok(template)
    }

    /// Changes a schedule. As in [`Client::schedule`], only a changed timetable starts afresh.
    pub async fn edit_schedule(
        &self,
        id: ScheduleId,
        edit: ScheduleEdit,
    ) -> Result<Schedule, ClientError> {
        let template = edit.job.clone().map(|job| self.template(job));
        let template = template.transpose()?;
        loop {
            let mut schedule = self.stored_schedule(id).await?;
            let timetable = edit.timetable(&schedule.timetable)?;
            if timetable != schedule.timetable {
                let now = self.now();
                schedule.progress.next_tick = first_tick(&schedule.name, &timetable, now)?;
                schedule.timetable = timetable;
            }
            if let Some(template) = &template {
                let tenant = schedule.template.tenant.clone();
                schedule.template = template.clone();
                schedule.template.tenant = tenant;
            }
            if let ScheduleSaveResult::Done(schedule) = self.store().save_schedule(schedule).await?
            {
                return Ok(schedule);
            }
        }
    }

    /// The schedule of an id.
    pub async fn find_schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, ClientError> {
        match self.stored_schedule(id).await {
            Ok(schedule) => Ok(Some(schedule)),
            Err(ClientError::NoSchedule(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn schedules(
        &self,
        tenant: Option<Tenant>,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, ClientError> {
        let filter = ScheduleFilter {
            tenant,
            ..ScheduleFilter::default()
        };
        Ok(self.store().list_schedules(filter, page).await?)
    }

    pub async fn pause_schedule(&self, id: ScheduleId) -> Result<Schedule, ClientError> {
        self.change_schedule(id, |schedule| schedule.paused = true)
            .await
    }

    /// Goes on with the next tick; those that passed meanwhile were not wanted.
    pub async fn resume_schedule(&self, id: ScheduleId) -> Result<Schedule, ClientError> {
        let now = self.now();
        self.change_schedule(id, |schedule| {
            if std::mem::take(&mut schedule.paused) {
                schedule.progress = schedule.timetable.resume(&schedule.progress, now);
            }
        })
        .await
    }

    /// Forgets a schedule; runs it has made go on.
    pub async fn delete_schedule(&self, id: ScheduleId) -> Result<(), ClientError> {
        match self.store().delete_schedule(id).await? {
            true => Ok(()),
            false => Err(ClientError::NoSchedule(id.to_string())),
        }
    }

    /// Makes one run now, beside the timetable.
    pub async fn run_schedule_now(&self, id: ScheduleId) -> Result<JobId, ClientError> {
        let mut now = self.now();
        loop {
            let schedule = self.stored_schedule(id).await?;
            let run = schedule.run(now, self.random().job_id(now));
            let job = run.id;
            let firing = FireRequest {
                schedule: id,
                revision: schedule.revision,
                runs: vec![run],
                skipped: Vec::new(),
                cancel: None,
                subscriptions: Arc::default(),
                progress: schedule.progress,
            };
            let fired = self.store().fire_schedules(vec![firing]).await? == [FireResult::Done];
            if fired && self.job(job).await?.is_some() {
                return Ok(job);
            }
            // The schedule was changed meanwhile, or this very moment is a tick that has fired.
            now = self.now().max(now.plus(Duration::from_micros(1)));
        }
    }

    /// What became of a schedule's ticks, newest first.
    pub async fn ticks(
        &self,
        id: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, ClientError> {
        Ok(self.store().list_ticks(id, page).await?)
    }

    async fn change_schedule(
        &self,
        id: ScheduleId,
        change: impl Fn(&mut Schedule),
    ) -> Result<Schedule, ClientError> {
        loop {
            let mut schedule = self.stored_schedule(id).await?;
            change(&mut schedule);
            if let ScheduleSaveResult::Done(schedule) = self.store().save_schedule(schedule).await?
            {
                return Ok(schedule);
            }
        }
    }

    async fn stored_schedule(&self, id: ScheduleId) -> Result<Schedule, ClientError> {
        let filter = ScheduleFilter {
            id: Some(id),
            ..ScheduleFilter::default()
        };
        let stored = self
            .store()
            .list_schedules(filter, PageRequest::first(1))
            .await?;
        let found = stored.items.into_iter().next();
        found.ok_or_else(|| ClientError::NoSchedule(id.to_string()))
    }
}

fn first_tick(
    name: &ScheduleName,
    timetable: &Timetable,
    now: Timestamp,
) -> Result<Option<Timestamp>, Invalid> {
    match timetable.first_tick(now) {
        Some(tick) => Ok(Some(tick.at)),
        None => {
            let expected = "must fire at least once; its ticks all lie in the past or nowhere";
            Err(Invalid::new("schedule", name, expected))
        }
    }
}
