//! Counts and rates.

use std::time::Duration;

use steadfast_api::{
    CountsBody, LaneBody, MinuteBody, MinuteList, MinutesQuery, StatsBody, TenantPageQuery,
};
use steadfast_core::Timestamp;
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use crate::{
    api::{cursor, query},
    extract::{Params, Reads},
    http::{Answer, Json, Problems},
    limits::RECENT_WINDOW,
};

/// Read job counts by label, throughput, retries and their success rate.
#[utoipa::path(
    get, path = "/stats", tag = "Stats", operation_id = "getStats", params(TenantPageQuery),
    responses((status = 200, description = "Counts and rates", body = StatsBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<StatsBody> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let now = app.client.now();
    let since = now.minus(RECENT_WINDOW);
    let lanes = app.client.lanes(tenant, since).await?;
    let sum: Stats = lanes.iter().cloned().collect();
    let key = |lane: &LaneStats| format!("{} {} {}", lane.tenant, lane.queue, lane.kind);
    let (lanes, next_cursor) = cursor::page_of_all(lanes, page.limit, page.after.as_deref(), key)?;
    Ok(Json(StatsBody {
        next_cursor,
        ..stats(&sum, lanes, now)
    }))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is shown to a few digits"
)]
fn stats(sum: &Stats, lanes: Vec<LaneStats>, now: Timestamp) -> StatsBody {
    let lanes = lanes.into_iter().map(|lane| LaneBody {
        tenant: lane.tenant.to_string(),
        queue: lane.queue.to_string(),
        kind: lane.kind.to_string(),
        counts: counts(&std::iter::once(lane).collect()),
    });
    StatsBody {
        now,
        total_retries: sum.total_retries(),
        successful_retries: sum.successful_retries(),
        retry_success_rate: sum.retry_success_rate(),
        retry_rate: sum.recent.retry_rate(),
        throughput: sum.recent.attempts as f64 / RECENT_WINDOW.as_secs_f64(),
        counts: counts(sum),
        lanes: lanes.collect(),
        next_cursor: None,
    }
}

/// Counts as they are answered.
pub fn counts(stats: &Stats) -> CountsBody {
    CountsBody {
        scheduled: stats.scheduled,
        ready: stats.ready,
        running: stats.running,
        retrying: stats.retrying,
        succeeded: stats.succeeded,
        failed: stats.failed,
        cancelled: stats.cancelled,
        dlq_size: stats.dead_letters,
        oldest_ready: stats.oldest_ready,
        recent: stats.recent.into(),
        total: stats.total.into(),
    }
}

/// List attempts per minute, oldest first; minutes without attempts are omitted.
#[utoipa::path(
    get, path = "/stats/minutes", tag = "Stats", operation_id = "listMinuteStats",
    params(MinutesQuery),
    responses((status = 200, description = "Counts per minute", body = MinuteList), Problems)
)]
pub async fn minutes(
    Reads { app, caller }: Reads,
    Params(query): Params<MinutesQuery>,
) -> Answer<MinuteList> {
    let tenant = query::tenant(query.tenant.as_deref(), &caller)?;
    let back = Duration::from_secs(60 * query::minutes(&query)?);
    let since = app.client.now().minus(back);
    let minutes = app.client.minutes(tenant, since).await?.into_iter();
    Ok(Json(MinuteList {
        minutes: minutes
            .map(|minute| MinuteBody {
                at: minute.at,
                tally: minute.tally.into(),
            })
            .collect(),
    }))
}
