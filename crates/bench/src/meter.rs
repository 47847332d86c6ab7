//! Wall time, CPU time and memory of this process.

use std::{
    ops::AddAssign,
    time::{Duration, Instant},
};

/// The cost of some work.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub wall: Duration,
    /// `None` where the system does not tell.
    pub cpu: Option<Duration>,
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            wall: Duration::ZERO,
            cpu: Some(Duration::ZERO),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        self.wall += more.wall;
        self.cpu = self.cpu.zip(more.cpu).map(|(cpu, more)| cpu + more);
    }
}

impl Cost {
    pub fn per_second(&self, count: usize) -> f64 {
        count as f64 / self.wall.as_secs_f64()
    }

    pub fn cpu_micros_each(&self, count: usize) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() * 1e6 / count as f64)
    }
}

pub struct Meter {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Meter {
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_time(),
        }
    }

    pub fn stop(self) -> Cost {
        Cost {
            wall: self.wall.elapsed(),
            cpu: cpu_time()
                .zip(self.cpu)
                .map(|(end, start)| end.saturating_sub(start)),
        }
    }
}

/// CPU time of all threads of this process.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let secs = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(secs, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}

/// Resident memory now, in megabytes.
pub fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1_024.0)
}
