//! Schedules: created, changed, paused, run by hand.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    AuditRecord, IdempotencyKey, Invalid, JobId, NewJob, PolicyPatch, Schedule, ScheduleId,
    ScheduleName, ScheduleProgress, Tenant, Timestamp, Timetable,
};
use steadfast_store::{
    FireRequest, FireResult, Page, PageRequest, ScheduleFilter, ScheduleSaveResult, TickRecord,
    limits::SCHEDULES_PER_TENANT_MAX,
};

use super::{Client, ClientError, CreateResult};
use crate::{
    client::{
        request::JobRequest,
        request::schedule::{ScheduleEdit, ScheduleRequest},
    },
    limits::REVISION_TRIES_MAX,
};

impl Client {
    /// Creates a schedule, or updates the one of that name: a changed timetable starts afresh from
    /// now, an unchanged one goes on as before. A paused schedule stays paused.
    pub async fn schedule(&self, request: ScheduleRequest) -> Result<Schedule, ClientError> {
        self.schedule_if(request, |_, _| true).await
    }

    /// As [`Client::schedule`], but updates a schedule of that name only if `may_replace` says so
    /// of the stored one and the new job.
    pub async fn schedule_if(
        &self,
        request: ScheduleRequest,
        may_replace: impl Fn(&Schedule, &NewJob) -> bool + Send,
    ) -> Result<Schedule, ClientError> {
        let name = ScheduleName::new(&request.name)?;
        let timetable = request.timetable()?;
        let template = self.template(request.job)?;
        self.check_template_secrets(Some(&template), "job").await?;
        for _ in 0..REVISION_TRIES_MAX {
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
            let stored = stored.items.into_iter().next();
            let verb = match stored {
                None => "create",
                Some(_) => "edit",
            };
            let schedule = match stored {
                Some(stored) if !may_replace(&stored, &template) => {
                    let schedule = Box::new(stored);
                    return Err(ClientError::NameTaken { schedule });
                }
                Some(stored) => {
                    let mut schedule = stored.clone();
                    set_timetable(&mut schedule, timetable.clone(), now)?;
                    set_template(&mut schedule, template.clone());
                    if schedule == stored {
                        return Ok(stored);
                    }
                    schedule
                }
                None => {
                    self.new_schedule(name.clone(), timetable.clone(), template.clone(), now)?
                }
            };
            if let Some(saved) = self.save_if_unchanged(schedule, verb).await? {
                return Ok(saved);
            }
        }
        Err(ClientError::contended(format_args!("schedule {name}")))
    }

    /// Creates a schedule once for an idempotency key: the same request again returns the schedule
    /// that it created, as it is now. It never replaces another schedule.
    pub async fn create_schedule(
        &self,
        request: ScheduleRequest,
        key: &str,
    ) -> Result<CreateResult<Schedule>, ClientError> {
        let key = IdempotencyKey::new(key)?;
        let name = ScheduleName::new(&request.name)?;
        let timetable = request.timetable()?;
        let fingerprint = |job: &NewJob| Schedule::fingerprint(&name, &timetable, job);
        let (mut template, fingerprint) = self.template_with(request.job, fingerprint)?;
        template.idempotency_key = Some(key.clone());
        self.check_template_secrets(Some(&template), "job").await?;
        let schedule = self.new_schedule(name.clone(), timetable, template, self.now())?;
        let result = self
            .store()
            .save_schedule(
                schedule.clone(),
                Some(fingerprint),
                self.schedule_record("create", &schedule),
            )
            .await?;
        match result {
            ScheduleSaveResult::Done(schedule) => Ok(CreateResult::New(schedule)),
            ScheduleSaveResult::Existing(schedule) => Ok(CreateResult::Existing(schedule)),
            ScheduleSaveResult::KeyTaken => Err(ClientError::KeyTaken { key }),
            ScheduleSaveResult::Gone => Err(ClientError::contended(name)),
            ScheduleSaveResult::Outdated(stored) => {
                let schedule = Box::new(stored);
                Err(ClientError::NameTaken { schedule })
            }
            ScheduleSaveResult::Full => Err(too_many()),
        }
    }

    fn new_schedule(
        &self,
        name: ScheduleName,
        timetable: Timetable,
        template: NewJob,
        now: Timestamp,
    ) -> Result<Schedule, Invalid> {
        Ok(Schedule {
            id: self.random().schedule_id(now),
            progress: ScheduleProgress {
                next_tick: first_tick(&name, &timetable, now)?,
                ..timetable.begin(now)
            },
            name,
            timetable,
            template,
            paused: false,
            created_at: now,
            revision: 0,
        })
    }

    /// The job of each run.
    fn template(&self, job: JobRequest) -> Result<NewJob, Invalid> {
        Ok(self.template_with(job, |_| ())?.0)
    }

    /// What each run looks like, and something about the request before what only it knows is
    /// dropped.
    fn template_with<T>(
        &self,
        job: JobRequest,
        about: impl FnOnce(&NewJob) -> T,
    ) -> Result<(NewJob, T), Invalid> {
        let mut prepared = job.check_template().and_then(|()| self.prepare(job));
        if let Ok(job) = &mut prepared {
            job.clear_traceparent();
        }
        let mut template = prepared.map_err(|error| error.within("job"))?;
        let about = about(&template);
        template.requested_retry = PolicyPatch::default();
        template.settle_defaults();
        Ok((template, about))
    }

    /// Changes a schedule. As in [`Client::schedule`], only a changed timetable starts afresh.
    pub async fn edit_schedule(
        &self,
        id: ScheduleId,
        edit: ScheduleEdit,
    ) -> Result<Schedule, ClientError> {
        let template = edit.job.clone().map(|job| self.template(job));
        let template = template.transpose()?;
        if let (Some(template), Some(schedule)) = (&template, self.find_schedule(id).await?) {
            let tenant = schedule.tenant();
            self.check_secrets(&template.kind, tenant, &template.payload, "job.http")
                .await?;
            let confirm = crate::documents::secrets::confirm_secrets(template);
            self.check_references(tenant, &confirm).await?;
        }
        self.change_schedule(id, "edit", |schedule, now| {
            let timetable = edit.apply_to(&schedule.timetable)?;
            set_timetable(schedule, timetable, now)?;
            if let Some(template) = template.clone() {
                set_template(schedule, template);
            }
            Ok(())
        })
        .await
    }

    /// The schedule of an id.
    pub async fn find_schedule(&self, id: ScheduleId) -> Result<Option<Schedule>, ClientError> {
        match self.stored_schedule(id).await {
            Ok(schedule) => Ok(Some(schedule)),
            Err(ClientError::ScheduleNotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The schedule of a name: of a tenant, or the first two of all tenants.
    pub async fn schedules_named(
        &self,
        tenant: Option<Tenant>,
        name: ScheduleName,
    ) -> Result<Vec<Schedule>, ClientError> {
        let filter = ScheduleFilter {
            tenant,
            name: Some(name),
            ..ScheduleFilter::default()
        };
        let page = PageRequest::first(2);
        Ok(self.store().list_schedules(filter, page).await?.items)
    }

    /// A page of the schedules of a tenant, or of all.
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

    /// Stops the ticks of a schedule until it is resumed; runs that exist go on.
    pub async fn pause_schedule(&self, id: ScheduleId) -> Result<Schedule, ClientError> {
        self.change_schedule(id, "pause", |schedule, _| {
            schedule.paused = true;
            Ok(())
        })
        .await
    }

    /// Goes on with the next tick; those that passed during the pause are not made up for.
    pub async fn resume_schedule(&self, id: ScheduleId) -> Result<Schedule, ClientError> {
        self.change_schedule(id, "resume", |schedule, now| {
            if std::mem::take(&mut schedule.paused) {
                schedule.progress = schedule.timetable.resume(&schedule.progress, now);
            }
            Ok(())
        })
        .await
    }

    /// Deletes a schedule; runs that exist go on.
    pub async fn delete_schedule(&self, id: ScheduleId) -> Result<(), ClientError> {
        let tenant = match self.actor.is_some() {
            true => self.tenant_of_schedule(id).await?,
            false => None,
        };
        let record = self.audit_record("schedule.delete", id.to_string(), tenant.as_ref());
        if self.store().delete_schedule(id, record).await? {
            Ok(())
        } else {
            Err(ClientError::ScheduleNotFound(id))
        }
    }

    /// Also of a schedule that cannot be read.
    async fn tenant_of_schedule(&self, id: ScheduleId) -> Result<Option<Tenant>, ClientError> {
        if let Some(schedule) = self.find_schedule(id).await? {
            return Ok(Some(schedule.template.tenant));
        }
        let (rows, id) = (self.damaged().await?.rows, id.to_string());
        let mut rows = rows.into_iter();
        let row = rows.find(|row| row.table == "schedule" && row.id == id);
        Ok(row.and_then(|row| row.tenant))
    }

    fn schedule_record(&self, verb: &str, schedule: &Schedule) -> Option<AuditRecord> {
        let action = format!("schedule.{verb}");
        let record = self.audit_record(&action, schedule.id.to_string(), Some(schedule.tenant()));
        record.map(|record| record.with_detail(schedule.name.as_str()))
    }

    /// Creates one run now, beside the timetable.
    pub async fn run_schedule_now(&self, id: ScheduleId) -> Result<JobId, ClientError> {
        let mut now = self.now();
        // The same for each try, so that there is one.
        let mut record = None;
        for _ in 0..REVISION_TRIES_MAX {
            let schedule = self.stored_schedule(id).await?;
            record = record.or_else(|| self.schedule_record("run_now", &schedule));
            let run = schedule.run(now, self.random().job_id(now));
            let job = run.id;
            let request = FireRequest {
                schedule: id,
                revision: schedule.revision,
                runs: vec![run],
                skipped: Vec::new(),
                cancel: None,
                subscriptions: Arc::default(),
                audit: record.clone(),
                progress: schedule.progress,
            };
            let fired = self.store().fire_schedules(vec![request]).await? == [FireResult::Done];
            if fired && self.job(job).await?.is_some() {
                return Ok(job);
            }
            // The schedule was changed meanwhile, or this very moment is a tick that has fired.
            now = self.now().max(now.plus(Duration::from_micros(1)));
        }
        Err(ClientError::contended(id))
    }

    /// A page of a schedule's ticks, fired or skipped, newest first.
    pub async fn ticks(
        &self,
        id: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, ClientError> {
        Ok(self.store().list_ticks(id, page).await?)
    }

    /// Changes a schedule as it is stored, and again if others change it meanwhile.
    async fn change_schedule(
        &self,
        id: ScheduleId,
        verb: &str,
        change: impl Fn(&mut Schedule, Timestamp) -> Result<(), Invalid>,
    ) -> Result<Schedule, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let stored = self.stored_schedule(id).await?;
            let mut schedule = stored.clone();
            change(&mut schedule, self.now())?;
            if schedule == stored {
                return Ok(schedule);
            }
            if let Some(saved) = self.save_if_unchanged(schedule, verb).await? {
                return Ok(saved);
            }
        }
        Err(ClientError::contended(id))
    }

    /// `None` if another program has written the schedule since it was read.
    async fn save_if_unchanged(
        &self,
        schedule: Schedule,
        verb: &str,
    ) -> Result<Option<Schedule>, ClientError> {
        let record = self.schedule_record(verb, &schedule);
        match self.store().save_schedule(schedule, None, record).await? {
            ScheduleSaveResult::Done(saved) => Ok(Some(saved)),
            ScheduleSaveResult::Full => Err(too_many()),
            ScheduleSaveResult::Outdated(_)
            | ScheduleSaveResult::Gone
            // Only with a fingerprint.
            | ScheduleSaveResult::Existing(_)
            | ScheduleSaveResult::KeyTaken => Ok(None),
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
        found.ok_or(ClientError::ScheduleNotFound(id))
    }
}

fn too_many() -> ClientError {
    ClientError::TooManySchedules {
        most: SCHEDULES_PER_TENANT_MAX,
    }
}

/// A changed timetable starts afresh from now. All but the next tick stays: the newest tick guards
/// against a clock that is set back, and a tick that waits for the run before it keeps its turn.
fn set_timetable(
    schedule: &mut Schedule,
    timetable: Timetable,
    now: Timestamp,
) -> Result<(), Invalid> {
    if timetable != schedule.timetable {
        schedule.progress.next_tick = first_tick(&schedule.name, &timetable, now)?;
        schedule.timetable = timetable;
    }
    Ok(())
}

/// What runs are made like. What they do not have of it stays, so that the same template again is no
/// change.
fn set_template(schedule: &mut Schedule, mut template: NewJob) {
    let stored = &schedule.template;
    template.id = stored.id;
    template.tenant = stored.tenant.clone();
    template.idempotency_key = stored.idempotency_key.clone();
    schedule.template = template;
}

fn first_tick(
    name: &ScheduleName,
    timetable: &Timetable,
    now: Timestamp,
) -> Result<Option<Timestamp>, Invalid> {
    match timetable.first_tick(now) {
        Some(tick) => Ok(Some(tick.at)),
        None => {
            let expected = "must fire at least once in the future";
            Err(Invalid::new("schedule", name, expected))
        }
    }
}
