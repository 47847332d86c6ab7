//! `steadfast forecast`: how many jobs will be due.

use steadfast_api::{ForecastBody, ForecastQuery, ForecastSeries};

use crate::{limits::FORECAST_CHARS, output::print_line, server_args::ServerArgs};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast forecast\n  steadfast forecast --minutes 360")]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Minutes to forecast, up to 720 [default: 120].
    #[arg(long)]
    minutes: Option<u64>,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let query = ForecastQuery {
        tenant: args.tenant,
        minutes: args.minutes,
    };
    server
        .show(server.client.get_forecast(&query), print_forecast)
        .await
}

fn print_forecast(forecast: &ForecastBody) -> anyhow::Result<()> {
    if forecast.queues.is_empty() && forecast.destinations.is_empty() {
        return Ok(print_line!("no jobs will be due")?);
    }
    for of in &forecast.queues {
        print_line!("queue {}", of.queue)?;
        print_series(&of.series)?;
        if let Some(share) = of.error_share {
            let percent = 100.0 * share;
            print_line!("  forecast error over the last hours: {percent:.0} %")?;
        }
    }
    for of in &forecast.destinations {
        print_line!("destination {}", of.destination)?;
        print_series(&of.series)?;
        if of.at_least {
            print_line!("  a lower bound: not all waiting jobs were counted")?;
        }
    }
    if forecast.is_cut {
        print_line!("incomplete: too many jobs to read; filter with --tenant")?;
    }
    Ok(())
}

/// What is due from now on, in a row of bars, and below it what waits after it was due, if anything.
fn print_series(series: &ForecastSeries) -> anyhow::Result<()> {
    let due = buckets(&series.due, |some| some.iter().sum());
    print_line!("  due      {}", bars(&due))?;
    let backlog = buckets(&series.backlog, |some| {
        some.iter().copied().fold(0.0, f64::max)
    });
    if backlog.iter().any(|it| *it >= 1.0) {
        print_line!("  backlog  {}", bars(&backlog))?;
    }
    Ok(print_line!("  {}", series.summary)?)
}

/// Buckets that fit on one line.
fn buckets(minutes: &[f64], fold: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let size = minutes.len().div_ceil(FORECAST_CHARS).max(1);
    minutes.chunks(size).map(fold).collect()
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `·` for less than half a job, the highest bar for the most.
fn bars(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        if *value < 0.5 {
            return '·';
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a height from 1 to 8"
        )]
        let height = (value / most * 8.0).ceil() as usize;
        BARS[height.clamp(1, BARS.len()) - 1]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_drawn_in_one_line() {
        assert_eq!(bars(&[0.0, 0.4, 1.0, 4.0, 8.0]), "··▁▄█");
        let minutes: Vec<f64> = (0..120).map(f64::from).collect();
        let sums = buckets(&minutes, |some| some.iter().sum());
        assert_eq!((sums.len(), sums[0], sums[59]), (60, 1.0, 118.0 + 119.0));
        assert!(buckets(&[], |_| 0.0).is_empty());
    }
}
