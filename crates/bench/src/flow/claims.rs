//! Claims and creates with many tenants and destinations, and at gates.

use std::sync::Arc;

use steadfast::{
    JobRequest,
    node::WorkerName,
    store::{ClaimRequest, GateSettings, Store},
};
use steadfast_core::{GateLimits, Pause, Rate, Timestamp, explain::thousands};

use super::{
    super::{
        Args,
        figure::Report,
        meter::{Cost, Meter},
        stores::{Stores, fill, plain},
    },
    queue_gate,
};

/// Samples of each store, which take turns; their median counts.
const SAMPLES: usize = 9; // not a limit: the shape of the measurement
const CLAIMS_PER_SAMPLE_MAX: usize = 10; // not a limit: the shape of the measurement
const CLAIM_SIZE: usize = 100; // not a limit: the shape of the measurement
/// One claim to begin with, and one for each sample.
pub const JOBS_MIN: usize = (SAMPLES + 1) * CLAIM_SIZE;
const QUEUE: &str = "default";
const HELD_QUEUE: &str = "held";

/// One of two stores that are compared.
struct Side {
    store: Arc<dyn Store>,
    samples: Vec<f64>,
}

impl Side {
    fn new(store: Arc<dyn Store>, gates: GateSettings) -> Self {
        store.set_gate_settings(gates);
        Self {
            store,
            samples: Vec::new(),
        }
    }

    async fn claim(&self, max: usize) -> anyhow::Result<usize> {
        let request = ClaimRequest::new(WorkerName::new("bench")?, max);
        Ok(self.store.claim(request).await?.claims.len())
    }

    /// The cost of one claimed job.
    async fn sample(&mut self, claims: usize, is_file: bool) -> anyhow::Result<()> {
        let meter = Meter::start();
        for _ in 0..claims {
            let claimed = self.claim(CLAIM_SIZE).await?;
            anyhow::ensure!(
                claimed == CLAIM_SIZE,
                "{claimed} of {CLAIM_SIZE} were claimed"
            );
        }
        let cost = meter.stop();
        let jobs = claims * CLAIM_SIZE;
        let wall = 1e6 / cost.per_second(jobs);
        let cpu = cost.cpu_micros_each(jobs).filter(|_| is_file);
        self.samples.push(cpu.unwrap_or(wall));
        Ok(())
    }

    fn median(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// The costs of claims from the second store and the first.
async fn compare(
    args: &Args,
    stores: &Stores<'_>,
    base: &mut Side,
    other: &mut Side,
) -> anyhow::Result<(f64, f64)> {
    let claims = (args.jobs / (SAMPLES + 1) / CLAIM_SIZE).clamp(1, CLAIMS_PER_SAMPLE_MAX);
    for side in [&mut *base, &mut *other] {
        side.samples.clear();
        // Where jobs wait is read by the first claim.
        side.claim(CLAIM_SIZE).await?;
    }
    for _ in 0..SAMPLES {
        base.sample(claims, stores.are_files()).await?;
        other.sample(claims, stores.are_files()).await?;
    }
    Ok((other.median(), base.median()))
}

fn of_tenants(tenants: usize) -> impl Fn(usize) -> JobRequest {
    move |number| plain(number).tenant(format!("tenant-{}", number % tenants))
}

fn to_destinations(destinations: usize) -> impl Fn(usize) -> JobRequest {
    move |number| {
        plain(number).destination(format!("https://{}.example.com", number % destinations))
    }
}

/// Claims compared with claims from one tenant.
pub async fn many(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let (tenants, destinations) = (args.flow.tenants, args.flow.destinations);
    let few = (tenants / 100).max(2);
    let jobs = args.jobs.max(tenants).max(destinations);
    let aim = "ratio ≤ 1.50 (baseline: 1 tenant)";
    type MakeJob = Box<dyn Fn(usize) -> JobRequest>;
    let job: [(String, MakeJob); 3] = [
        (tenant_name(few), Box::new(of_tenants(few))),
        (tenant_name(tenants), Box::new(of_tenants(tenants))),
        (
            format!("claim, {} destinations", thousands(destinations as u64)),
            Box::new(to_destinations(destinations)),
        ),
    ];
    for (name, job) in job {
        let mut base = Side::new(stores.open().await?, GateSettings::default());
        fill(&base.store, args.batch, jobs, plain).await?;
        let mut other = Side::new(stores.open().await?, GateSettings::default());
        fill(&other.store, args.batch, jobs, job).await?;
        let costs = compare(args, stores, &mut base, &mut other).await?;
        report.compare(name, costs, "µs/job", aim);
    }
    Ok(())
}

fn tenant_name(tenants: usize) -> String {
    format!("claim, {} tenants", thousands(tenants as u64))
}

/// Claims at a gate that counts what runs, and at one that counts starts, compared with none.
pub async fn gates(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let wide = i64::from(u16::MAX);
    let rate = Rate::new(wide, std::time::Duration::from_secs(1), wide)?;
    let limits = [
        (
            "claim at a gate: maxRunning",
            GateLimits {
                max_running: Some(1_000_000), // not a limit: wide enough for all
                ..GateLimits::default()
            },
        ),
        (
            "claim at a gate: rate",
            GateLimits {
                rate: Some(rate),
                ..GateLimits::default()
            },
        ),
    ];
    for (name, limits) in limits {
        let mut base = Side::new(stores.open().await?, GateSettings::default());
        let mut other = Side::new(stores.open().await?, queue_gate(QUEUE, limits)?);
        for side in [&base, &other] {
            fill(&side.store, args.batch, args.jobs, plain).await?;
        }
        let costs = compare(args, stores, &mut base, &mut other).await?;
        report.compare(name, costs, "µs/job", "ratio ≤ 1.30 (baseline: no gate)");
    }
    Ok(())
}

/// Creates for many tenants compared with creates for one: the first job of each, and more.
pub async fn creates(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let tenants = args.flow.tenants;
    let (base, other) = (stores.open().await?, stores.open().await?);
    let names = [
        format!("create, first of {} tenants", thousands(tenants as u64)),
        format!("create, {} tenants", thousands(tenants as u64)),
    ];
    let aims = [
        "(baseline: 1 tenant)",
        "ratio ≥ 0.80 (baseline: 1 tenant, all known)",
    ];
    for (name, aim) in names.into_iter().zip(aims) {
        let (mut theirs, mut ours) = (Cost::default(), Cost::default());
        for start in (0..tenants).step_by(args.batch) {
            let size = args.batch.min(tenants - start);
            let meter = Meter::start();
            fill(&base, args.batch, size, plain).await?;
            theirs += meter.stop();
            let meter = Meter::start();
            let job = of_tenants(tenants);
            fill(&other, args.batch, size, |number| job(start + number)).await?;
            ours += meter.stop();
        }
        let rates = (ours.per_second(tenants), theirs.per_second(tenants));
        report.compare(name, rates, "jobs/s", aim);
    }
    Ok(())
}

/// Claims next to a closed gate with many jobs behind it; then the gate opens, and a tenant with few
/// jobs comes after them.
pub async fn held(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let pause = Pause {
        by: None,
        since: Timestamp::EPOCH,
        reason: None,
        until: None,
    };
    let closed = GateLimits {
        paused: Some(pause),
        ..GateLimits::default()
    };
    let closed = queue_gate(HELD_QUEUE, closed)?;
    let mut base = Side::new(stores.open().await?, closed.clone());
    let mut other = Side::new(stores.open().await?, closed);
    let behind = |number| {
        let request = plain(number).tenant("large").queue(HELD_QUEUE);
        request.priority(9)
    };
    fill(&other.store, args.batch, args.flow.held, behind).await?;
    for side in [&base, &other] {
        fill(&side.store, args.batch, args.jobs, plain).await?;
    }
    let costs = compare(args, stores, &mut base, &mut other).await?;
    let name = format!("claim, {} jobs held back", thousands(args.flow.held as u64));
    report.compare(name, costs, "µs/job", "ratio ≤ 1.10 (baseline: none)");

    let count = 10;
    fill(&other.store, args.batch, count, |number| {
        plain(number).tenant("small").queue(HELD_QUEUE)
    })
    .await?;
    other.store.set_gate_settings(GateSettings::default());
    let (mut claims, mut left) = (0_u32, count);
    while left > 0 {
        let mut request = ClaimRequest::new(WorkerName::new("bench")?, count);
        request.queues = vec![steadfast::Queue::new(HELD_QUEUE)?];
        let claimed = other.store.claim(request).await?.claims;
        let small = claimed
            .iter()
            .filter(|claim| claim.job().tenant.as_str() == "small");
        left -= small.count();
        claims += 1;
        anyhow::ensure!(!claimed.is_empty(), "jobs of a tenant are lost");
    }
    let name = format!("10 jobs with {} held", thousands(args.flow.held as u64));
    report.alone(
        name,
        f64::from(claims),
        "claims of 10",
        "≤ 2 until all are taken",
    );
    Ok(())
}
