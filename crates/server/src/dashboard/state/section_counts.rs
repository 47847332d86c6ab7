//! Reads the counts beside the sections of the dashboard.

use steadfast_core::{AlertStatus, Tenant};
use steadfast_engine::{Client, ClientError, DestinationFilter, Stats};
use steadfast_store::{LaneStats, OperationFilter, PageRequest};

use crate::{limits, theme::navigation::SectionCounts};

pub async fn read(
    client: &Client,
    lanes: Vec<LaneStats>,
    tenant: Option<&Tenant>,
) -> Result<SectionCounts, ClientError> {
    let stats: Stats = lanes.into_iter().collect();
    let alerts = client.alerts(tenant).await?;
    let firing = alerts.iter().filter(|it| it.status == AlertStatus::Firing);
    let mut filter = DestinationFilter::default();
    filter.tenant = tenant.cloned();
    // They are in memory, so that counting all of them costs little.
    let troubled = client
        .destinations(&filter.with_trouble(), None, usize::MAX)
        .await?;
    let open = OperationFilter {
        tenant: tenant.cloned(),
        is_open: true,
        ..OperationFilter::default()
    };
    let page = PageRequest::first(limits::PAGE_DEFAULT + 1);
    Ok(SectionCounts {
        running: stats.running,
        dead_letters: stats.dead_letters,
        destinations: troubled.len(),
        alerts: firing.count(),
        operations: client.operations(open, page).await?.items.len(),
    })
}
