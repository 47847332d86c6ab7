//! The limits of pages: how much they show, and how old it may be.

use std::time::Duration;

/// How old the counts on a page may be. Ten people who watch one incident ask the store once.
pub const LANE_STATS_AGE_MAX: Duration = Duration::from_secs(1);
/// How old the counts beside the sections may be: they are read for every page.
pub const SECTION_COUNTS_AGE_MAX: Duration = Duration::from_secs(2);
/// The chart of an hour: how many parts, and how long each is.
pub const CHART_HOUR: (u32, Duration) = (60, Duration::from_secs(60));
/// Waiting calls that are examined to say how many the first key would block.
pub const CALLS_EXAMINED_MAX: usize = 500;
/// The chart of an hour begins when the server started, if nothing happened before; this is the minimum
/// number of its parts.
pub const CHART_PARTS_MIN: u32 = 10;
/// The chart of a day.
pub const CHART_DAY: (u32, Duration) = (144, Duration::from_secs(600));
/// Tenants with a start latency of their own: each takes up to 20 kB.
pub const START_LATENCY_TENANTS_MAX: usize = 100;
/// After this time without a start, a tenant makes room for another.
pub const START_LATENCY_TENANT_KEPT: Duration = Duration::from_secs(3_600);
/// A page that is shown below a path is read whole to move its addresses; the largest has a few
/// hundred jobs.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// One more look at the store may take as long again, and a page has a tenth of a second.
pub const PAGE_LIST_TIME_MAX: Duration = Duration::from_millis(25);
/// Texts of jobs on a page: enough to recognise them, and a page stays small.
pub const PAGE_TEXT_BYTES_MAX: usize = 16 * 1024;
/// Characters that fit into a cell of a table in two lines.
pub const CELL_CHARS_MAX: usize = 120;
/// Characters of the work of a job in a list: a host and a path, or some values.
pub const SUMMARY_CHARS_MAX: usize = 80;
/// A value of a payload in a row: an address or a long number.
pub const SUMMARY_VALUE_CHARS_MAX: usize = 40;
/// Values of a payload in a row.
pub const SUMMARY_FIELDS_MAX: usize = 2;
/// Payloads that are read for their row: fifty of them take a few milliseconds.
pub const SUMMARY_PAYLOAD_BYTES_MAX: usize = 16 * 1024;
/// A line of a search box.
pub const SEARCH_CHARS_MAX: usize = 1_000;
/// Names of one sort that a search box completes, and words in total; more would make the page large.
pub const COMPLETIONS_MAX: usize = 300;
/// Of these, words of the jobs that are listed.
pub const COMPLETIONS_OF_PAGE_MAX: usize = COMPLETIONS_MAX / 2;

/// Attempts on the page of a job; the API has the rest.
pub const PAGE_ATTEMPTS_MAX: usize = 50;
/// Attempts whose logs are on the page of a job, and lines of each; the API has the rest.
pub const LOG_ATTEMPTS_SHOWN: usize = 5;
pub const LOG_LINES_SHOWN: u64 = 200;
/// Past attempts that fit into the timeline of a job without becoming unreadable.
pub const TIMELINE_ATTEMPTS_MAX: usize = 14;
/// Upcoming attempts in the timeline of a job, beside the past ones.
pub const TIMELINE_FORECAST_MAX: usize = 8;
/// Webhook deliveries on the page of a job, the newest first.
pub const DELIVERIES_SHOWN_MAX: usize = 100;

/// Groups of failures on the page of dead letters, which lists dead letters below them.
pub const PAGE_FAILURES_MAX: usize = 20;

/// More queues than this cannot be read on one page.
pub const PAGE_QUEUES_MAX: usize = 200;
/// As for queues.
pub const PAGE_GATES_MAX: usize = 200;
/// As for queues.
pub const PAGE_DESTINATIONS_MAX: usize = 200;
/// Gates with metrics of their own: each has a few series, and a scrape has thousands already.
pub const METRIC_GATES_MAX: usize = 200;
/// Each schedule on the list is asked for its last ticks, so the list is short.
pub const PAGE_SCHEDULES_MAX: usize = 25;
/// Last runs shown beside a schedule.
pub const LAST_RUNS_MAX: usize = 24;
/// Past ticks on the page of a schedule.
pub const PAGE_TICKS_MAX: usize = 50;
/// Upcoming ticks of a schedule in the list of schedules.
pub const LIST_UPCOMING_TICKS_MAX: usize = 3;
/// Upcoming ticks on the page of a schedule.
pub const PAGE_UPCOMING_TICKS_MAX: usize = 10;
/// Workers on one page, those that were seen last: a few screens.
pub const PAGE_WORKERS_MAX: usize = 200;
/// Running jobs that are read to show who holds them.
pub const PAGE_RUNNING_JOBS_MAX: usize = 500;

/// Alerts that fire, on the overview: in an outage each tenant may have one.
pub const OVERVIEW_ALERTS_MAX: usize = 20;
/// Alerts on their page, those that fire first; the API has all of them.
pub const PAGE_ALERTS_MAX: usize = 500;
/// How long after its end an incident is mentioned beside its destination: the next morning.
pub const INCIDENT_SHOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// What the picture of an outage shows before and after it.
pub const OUTAGE_MARGIN: Duration = Duration::from_secs(5 * 60);
/// Groups of failures, destinations and deploys on the overview: each has a page of its own.
pub const OVERVIEW_ROWS_MAX: usize = 5;
/// Queues on the overview, the busiest first.
pub const OVERVIEW_QUEUES_MAX: usize = 8;
/// How old the slower parts of the overview may be; an open page asks every second.
pub const OVERVIEW_AGE_MAX: Duration = Duration::from_secs(5);
/// Jobs of an operation whose outcomes are counted when it is shown; as many as the engine reads.
pub const OUTCOMES_SHOWN_MAX: u64 = 1_000;
/// Attempts that failed like the one after them are folded, if they are at least as many.
pub const ATTEMPTS_FOLDED_MIN: usize = 3;
/// Tenants that are named where a request must choose one.
pub const TENANTS_NAMED_MAX: usize = 5;
/// Groups of failures that are sorted by their dead letters; the largest of them are shown.
pub const FAILURES_SORTED_MAX: usize = 500;
/// The longest silence of an alert: a week of holidays.
pub const SILENCE_HOURS_MAX: u32 = 7 * 24;
/// Attempts of the deliveries on the page of an endpoint, whose durations it shows.
pub const DELIVERY_ATTEMPTS_MAX: usize = 1_000;
/// The newest jobs, among which the end of an id is searched for.
pub const SHORT_ID_JOBS_MAX: usize = 500;
/// How far the jobs are counted that a hold would stop.
pub const HELD_JOBS_COUNTED_MAX: u64 = 100_000;
/// Reasons why due jobs cannot start, in one place of a page; the others are on the page of queues.
pub const DUE_STOPS_MAX: usize = 4;
/// A job that has been due for longer is a sign that nothing takes it.
pub const OVERVIEW_OVERDUE_AFTER: Duration = Duration::from_secs(60);

/// Attempts in the timetable of the simulator; a policy may have a hundred retries.
pub const SIMULATOR_ROWS_MAX: usize = 30;
/// Jobs that fail together in the simulator: enough for a smooth picture.
pub const HERD_JOBS: u64 = 1_000;

/// Most operations are over by then, and the page can say what was done.
pub const BULK_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long a requeue or discard of all that match is waited for: proxies and clients give up after
/// thirty seconds, and the operation goes on anyway.
pub const DEAD_LETTERS_WAIT_MAX: Duration = Duration::from_secs(20);
/// Open operations on the pages of jobs and dead letters; all of them have a page of their own.
pub const OPEN_OPERATIONS_SHOWN: usize = 5;
/// Steps that a job has done, on its page: a job may have a thousand.
pub const JOB_STEPS_SHOWN: usize = 50;
/// Commands and operations on the page of a job, the newest first.
pub const JOB_COMMANDS_SHOWN: usize = 20;
/// How far a forecast looks ahead by default: what people plan for.
pub const FORECAST_MINUTES_DEFAULT: u64 = 120;
/// How old the forecast of a page may be: it changes by the minute, and open pages ask every second.
pub const FORECAST_AGE_MAX: Duration = Duration::from_secs(15);
/// Tenants in a cache of the dashboard.
pub const TENANTS_CACHED_MAX: usize = 100;
/// Queues and destinations on the overview: the page of a person who looks at it first.
pub const FORECAST_ROWS_MAX: usize = 5;
