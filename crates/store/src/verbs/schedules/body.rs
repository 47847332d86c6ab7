//! A schedule as a record.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use steadfast_core::{
    IdempotencyKey, Schedule, ScheduleName, ScheduleProgress, Tenant, Timestamp, Timetable,
};

use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Record, RecordKind, RecordState, StoredRecord},
    verbs::template::Template,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScheduleBody {
    tenant: Tenant,
    name: ScheduleName,
    /// These two are only read when they are needed: a firing leaves them as they are.
    timetable: Box<RawValue>,
    template: Box<RawValue>,
    paused: bool,
    created_at: Timestamp,
    pub progress: ScheduleProgress,
}

impl ScheduleBody {
    pub(super) fn new(schedule: &Schedule) -> Result<Self, DriverError> {
        let template = Template::from(&schedule.template);
        let unwritable = |error| DriverError::unreadable("schedule", error);
        Ok(Self {
            tenant: schedule.tenant().clone(),
            name: schedule.name.clone(),
            timetable: to_raw_value(&schedule.timetable).map_err(unwritable)?,
            template: to_raw_value(&template).map_err(unwritable)?,
            paused: schedule.paused,
            created_at: schedule.created_at,
            progress: schedule.progress,
        })
    }

    pub(super) fn read(record: &StoredRecord) -> Result<Self, DriverError> {
        parse("schedule", record.body("schedule")?)
    }

    pub(super) fn json(&self) -> Result<String, DriverError> {
        serde_json::to_string(self).map_err(|error| DriverError::unreadable("schedule", error))
    }

    /// Takes over the state after a firing of which this many ticks had fired before.
    pub(super) fn advance(
        &mut self,
        progress: &ScheduleProgress,
        repeated: u64,
        now: Timestamp,
    ) -> Result<(), DriverError> {
        self.progress = match repeated {
            0 => *progress,
            repeated => {
                let timetable: Timetable = parse("timetable", self.timetable.get())?;
                timetable.without_repeated(progress, repeated, now)
            }
        };
        Ok(())
    }

    /// The record of this body, which is given as JSON. It replaces another revision, or none.
    pub(super) fn record<'r>(
        &'r self,
        id: &'r str,
        replaces: Option<u64>,
        revision: u64,
        json: &'r str,
    ) -> Record<'r> {
        Record {
            kind: RecordKind::Schedule,
            id,
            tenant: self.tenant.as_str(),
            name: Some(self.name.as_str()),
            state: match self.progress.queued_tick {
                _ if self.paused => RecordState::Paused,
                Some(_) => RecordState::Queued,
                None => RecordState::Active,
            },
            at: self.progress.next_tick,
            revision,
            replaces,
            body: json,
        }
    }

    /// The key by which the schedule was created.
    pub(super) fn key(&self) -> Result<Option<(&Tenant, IdempotencyKey)>, DriverError> {
        let template: Template = parse("template", self.template.get())?;
        Ok(template.idempotency_key.map(|key| (&self.tenant, key)))
    }
}

pub(super) fn read(record: &StoredRecord) -> Result<Schedule, DriverError> {
    let body = ScheduleBody::read(record)?;
    let template: Template = parse("template", body.template.get())?;
    let id = record.id.parse();
    Ok(Schedule {
        id: id.map_err(|error| DriverError::unreadable("schedule", error))?,
        name: body.name,
        timetable: parse("timetable", body.timetable.get())?,
        template: template
            .try_into()
            .map_err(|error| DriverError::unreadable("template", error))?,
        paused: body.paused,
        progress: body.progress,
        created_at: body.created_at,
        revision: record.revision,
    })
}

fn parse<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<T, DriverError> {
    serde_json::from_str(json).map_err(|error| DriverError::unreadable(what, error))
}
