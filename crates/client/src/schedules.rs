//! Schedules: rules that create one job per tick. Where an id is taken, a name does as well.

use std::fmt::Display;

use http::Method;
use steadfast_api::{
    CreateScheduleRequest, EditScheduleRequest, JobBody, PageQuery, ScheduleBody, ScheduleList,
    ScheduleQuery, TickList,
};

use crate::{
    client::Client,
    request::{Request, path_segment},
};

impl Client {
    /// Creates a schedule, or updates the one of that name.
    pub fn create_schedule(&self, schedule: &CreateScheduleRequest) -> Request<ScheduleBody> {
        self.post_json("createSchedule", "/schedules", schedule)
    }

    /// A page of schedules, newest first.
    pub fn list_schedules(&self, query: &ScheduleQuery) -> Request<ScheduleList> {
        self.get("listSchedules", "/schedules").query(query)
    }

    /// A schedule, with its next ticks.
    pub fn get_schedule(&self, id: impl Display) -> Request<ScheduleBody> {
        self.get("getSchedule", &schedule_path(id, ""))
    }

    /// Changes a schedule.
    pub fn edit_schedule(
        &self,
        id: impl Display,
        edit: &EditScheduleRequest,
    ) -> Request<ScheduleBody> {
        self.operation("editSchedule", Method::PATCH, &schedule_path(id, ""))
            .json(edit)
    }

    /// Deletes a schedule; the runs that it has created stay.
    pub fn delete_schedule(&self, id: impl Display) -> Request<()> {
        self.operation("deleteSchedule", Method::DELETE, &schedule_path(id, ""))
    }

    /// Creates no more runs until the schedule is resumed.
    pub fn pause_schedule(&self, id: impl Display) -> Request<ScheduleBody> {
        self.post("pauseSchedule", &schedule_path(id, "/pause"))
    }

    /// Continues with the next tick.
    pub fn resume_schedule(&self, id: impl Display) -> Request<ScheduleBody> {
        self.post("resumeSchedule", &schedule_path(id, "/resume"))
    }

    /// Creates one run now, besides those of the ticks.
    pub fn run_schedule_now(&self, id: impl Display) -> Request<JobBody> {
        self.post("runScheduleNow", &schedule_path(id, "/run-now"))
    }

    /// A page of the ticks of a schedule, newest first, and the ticks to come.
    pub fn list_ticks(&self, id: impl Display, query: &PageQuery) -> Request<TickList> {
        self.get("listTicks", &schedule_path(id, "/ticks"))
            .query(query)
    }
}

fn schedule_path(id: impl Display, verb: &str) -> String {
    format!("/schedules/{}{verb}", path_segment(id))
}
