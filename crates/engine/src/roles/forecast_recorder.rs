//! What is coming, as alerts see it: a forecast for each queue, made once a minute, and held against
//! what came.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use steadfast_core::{
    DueForecast, ForecastRecord, ForecastTrust, Payload, Queue, Tenant, Timestamp, UpcomingJobs,
    limits,
};
use steadfast_store::{Document, DocumentKind, LaneMinutes, Outbox, Store, StoreError};

use crate::{
    documents::{cache::decode_documents, policy_levels::PolicyLevels},
    flow::forecasts::{self, minute_of},
    limits::{FORECAST_RECORD, MINUTE, STORM_MINUTES},
};

/// What is coming in the queues of tenants, where it is more than can be worked off at once.
pub type UpcomingByQueue = BTreeMap<(Tenant, Queue), UpcomingJobs>;

pub struct ForecastRecorder {
    store: Arc<dyn Store>,
    levels: Arc<PolicyLevels>,
    /// The minute of the last look, and what was seen.
    last: Mutex<Option<(Timestamp, UpcomingByQueue)>>,
}

impl ForecastRecorder {
    pub fn new(store: Arc<dyn Store>, levels: Arc<PolicyLevels>) -> Self {
        Self {
            store,
            levels,
            last: Mutex::default(),
        }
    }

    /// As [`ForecastRecorder::refresh`]; what was seen last, if that fails, so that other alerts go on.
    pub async fn refresh_or_keep(&self, now: Timestamp) -> UpcomingByQueue {
        match self.refresh(now).await {
            Ok(upcoming) => upcoming,
            Err(error) => {
                tracing::warn!(%error, "cannot read the upcoming jobs; alerts use the previous forecast");
                let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.as_ref()
                    .map(|(_, upcoming)| upcoming.clone())
                    .unwrap_or_default()
            }
        }
    }

    /// Looks ahead, unless it has in this minute.
    async fn refresh(&self, now: Timestamp) -> Result<UpcomingByQueue, StoreError> {
        let present = minute_of(now);
        if let Some(upcoming) = self.seen_at(present) {
            return Ok(upcoming);
        }
        let (since, until) = (now.minus(limits::DAY), present.plus(STORM_MINUTES * MINUTE));
        let list = self.store.lane_minutes(None, since, until).await?;
        let record = self.keep_record(&list.lanes, now).await?;
        let groups = forecasts::grouped(&list.lanes, |lane| {
            (lane.tenant.clone(), lane.queue.clone())
        });
        let upcoming = groups.into_iter().filter_map(|(of, lanes)| {
            let trust = ForecastTrust {
                oldest_attempt: forecasts::oldest_attempt(&lanes),
                error: record.error_of(of.1.as_str()),
            };
            let upcoming = UpcomingJobs::of(&self.forecast(&lanes, now), trust)?;
            Some((of, upcoming))
        });
        let upcoming: UpcomingByQueue = upcoming.collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((present, upcoming.clone()));
        Ok(upcoming)
    }

    fn seen_at(&self, minute: Timestamp) -> Option<UpcomingByQueue> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = last.as_ref().filter(|(at, _)| *at == minute);
        seen.map(|(_, upcoming)| upcoming.clone())
    }

    fn forecast(&self, lanes: &[&LaneMinutes], now: Timestamp) -> DueForecast {
        let minutes = usize::try_from(STORM_MINUTES).unwrap_or(usize::MAX);
        forecasts::of_lanes(lanes, &self.levels, now, minutes)
    }

    /// Adds this minute to the record of forecasts, if no node has; returns the record.
    async fn keep_record(
        &self,
        lanes: &[LaneMinutes],
        now: Timestamp,
    ) -> Result<ForecastRecord, StoreError> {
        let (kind, id) = (DocumentKind::Forecast, FORECAST_RECORD.to_owned());
        let stored = self.store.get_document(kind, id.clone()).await?;
        let revision = stored.as_ref().map_or(0, |document| document.revision);
        let stored = decode_documents::<ForecastRecord>(stored.into_iter().collect()).next();
        let mut record = stored.map(|(_, record)| record).unwrap_or_default();
        let present = minute_of(now);
        if record.has(present) || (lanes.is_empty() && revision == 0) {
            return Ok(record);
        }
        let groups = forecasts::grouped(lanes, |lane| lane.queue.to_string());
        let mut ended: HashMap<(&str, Timestamp), u64> = HashMap::new();
        for (queue, lanes) in &groups {
            for minute in lanes.iter().flat_map(|lane| &lane.ended) {
                *ended.entry((queue, minute.at)).or_default() += minute.tally.attempts;
            }
        }
        let forecasts = groups.iter();
        let forecasts = forecasts.map(|(queue, lanes)| (queue, self.forecast(lanes, now)));
        let forecasts: Vec<(&String, DueForecast)> = forecasts.collect();
        record.step(
            present,
            forecasts.iter().map(|(queue, it)| ((*queue).clone(), it)),
            |queue, minute| ended.get(&(queue, minute)).copied().unwrap_or(0),
        );
        let body = match Payload::encode(&record) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "cannot store the forecast record");
                return Ok(record);
            }
        };
        let document = Document {
            kind,
            id,
            body,
            revision,
        };
        // If another node was first, it has written the same.
        self.store
            .save_document(document, Outbox::default())
            .await?;
        Ok(record)
    }
}
