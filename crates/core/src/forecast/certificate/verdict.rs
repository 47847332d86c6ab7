//! The verdict: what is played, and what it says.

use std::{fmt, time::Duration};

use super::{
    CallerSettings, CertificateChange, CertificatePicture, CertificateSettings, Fault, FaultResult,
    change, picture::Runs, recovery,
};
use crate::{explain, limits, values::Invalid};

/// Whether a system recovers by itself after an outage.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// The answer.
    pub verdict: CertificateVerdict,
    /// The part of the capacity that the jobs need if each is called once.
    pub load: f64,
    /// How long each fault lasted.
    pub outage: Duration,
    /// For how long after its end it was played.
    pub played: Duration,
    /// The highest load that was found to recover; `None` if none was.
    pub recovers_up_to: Option<f64>,
    /// What came of each fault; empty if the system is overloaded without one.
    pub faults: Vec<FaultResult>,
    /// The smallest change that helps, if it does not recover and one was found.
    pub change: Option<CertificateChange>,
    /// Load against time.
    pub picture: CertificatePicture,
}

/// The answer of a certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CertificateVerdict {
    /// It recovers by itself from each fault.
    Recovers {
        /// From the end of the worst fault.
        after: Duration,
    },
    /// It does not recover within the time that was played.
    StaysDown {
        /// The fault.
        fault: Fault,
    },
    /// More jobs arrive than can be done, without any fault.
    Overloaded {
        /// What is too small.
        by: Bottleneck,
        /// Jobs per second that it lets through.
        most: f64,
    },
}

/// What limits the jobs that can be done per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bottleneck {
    /// The capacity of the target.
    Capacity,
    /// The rate of the gate.
    Rate,
    /// `maxRunning` of the gate.
    MaxRunning,
    /// The slots of workers.
    Slots,
}

pub(super) fn of(settings: &CertificateSettings, seed: u64) -> Result<Certificate, Invalid> {
    let overload = bottleneck(settings);
    let load = settings.target.load();
    let mut runs = Vec::new();
    for tenth in 1..=10 {
        let at = f64::from(tenth) / 10.0;
        if (at - load).abs() >= 0.01 || overload.is_some() {
            runs.push(play(settings, at, seed)?);
        }
    }
    let recovers_up_to = highest_recovery(settings, &runs, seed)?;
    let mut faults = Vec::new();
    let mut change = None;
    let verdict = match overload {
        Some((by, most)) => CertificateVerdict::Overloaded { by, most },
        None => {
            let mut given = play(settings, load, seed)?;
            given.is_given = true;
            faults = recovery::results(&given.courses);
            runs.push(given);
            verdict(&faults)
        }
    };
    if let CertificateVerdict::StaysDown { fault } = verdict {
        change = change::smallest(settings, fault, recovers_up_to, seed)?;
    }
    Ok(Certificate {
        verdict,
        load,
        outage: settings.outage,
        played: settings.patience(),
        recovers_up_to,
        faults,
        change,
        picture: CertificatePicture::new(runs, settings.outage),
    })
}

/// Plays all faults at a load.
fn play(settings: &CertificateSettings, load: f64, seed: u64) -> Result<Runs, Invalid> {
    let settings = settings.at_load(load);
    let courses = Fault::ALL.iter().map(|fault| settings.play(*fault, seed));
    Ok(Runs {
        load,
        is_given: false,
        courses: courses.collect::<Result<_, _>>()?,
    })
}

fn verdict(faults: &[FaultResult]) -> CertificateVerdict {
    let down = faults.iter().find(|it| it.recovers_after.is_none());
    if let Some(down) = down {
        return CertificateVerdict::StaysDown { fault: down.fault };
    }
    let times = faults.iter().filter_map(|it| it.recovers_after);
    CertificateVerdict::Recovers {
        after: times.max().unwrap_or_default(),
    }
}

/// What lets fewer jobs through than arrive, without any fault.
pub(super) fn bottleneck(settings: &CertificateSettings) -> Option<(Bottleneck, f64)> {
    let target = &settings.target;
    let gate = &settings.gate;
    let per_call = target.latency.as_secs_f64();
    let rate = gate
        .rate
        .map(|rate| f64::from(rate.limit) / rate.per.as_secs_f64());
    let running = gate.most_running().map(|most| f64::from(most) / per_call);
    let slots = match settings.callers {
        CallerSettings::Slots(slots) => Some(f64::from(slots) / per_call),
        CallerSettings::Nodes(_) => None,
    };
    let known = [
        (Bottleneck::Capacity, Some(target.capacity)),
        (Bottleneck::Rate, rate),
        (Bottleneck::MaxRunning, running),
        (Bottleneck::Slots, slots),
    ];
    let known = known.into_iter().filter_map(|(by, most)| Some((by, most?)));
    let too_small = known.filter(|(_, most)| *most < target.traffic);
    too_small.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Between the highest load below which all recover, and the next one that was played. Faults that
/// are recovered from there are recovered from between the two.
fn highest_recovery(
    settings: &CertificateSettings,
    runs: &[Runs],
    seed: u64,
) -> Result<Option<f64>, Invalid> {
    let is_bad = |runs: &&Runs| runs.recovers_after().is_none();
    let good = runs.iter().take_while(|runs| !is_bad(runs));
    let mut low = good.last().map(|runs| runs.load);
    let Some(bad) = runs.iter().find(is_bad) else {
        return Ok(low);
    };
    let mut high = bad.load;
    for _ in 0..limits::CERTIFICATE_HALVINGS {
        let middle = f64::midpoint(low.unwrap_or(0.0), high);
        let between = settings.at_load(middle);
        let mut recovers = true;
        for result in recovery::results(&bad.courses) {
            let plays = recovers && result.recovers_after.is_none();
            recovers &= !plays || between.play(result.fault, seed)?.recovers_after().is_some();
        }
        match recovers {
            true => low = Some(middle),
            false => high = middle,
        }
    }
    Ok(low)
}

/// A load in percent: `70 %`.
pub(super) fn percent(load: f64) -> String {
    format!("{:.0} %", load * 100.0)
}

/// The certificate in a sentence or two.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = percent(self.load);
        let outage = explain::brief(self.outage);
        match &self.verdict {
            CertificateVerdict::Recovers { after } => {
                let after = explain::brief(*after);
                write!(
                    f,
                    "recovers by itself: at {load} load, at most {after} after the end of each fault of {outage}"
                )?;
                return match self.recovers_up_to {
                    Some(most) if most > self.load => write!(f, "; up to {} load", percent(most)),
                    _ => Ok(()),
                };
            }
            CertificateVerdict::StaysDown { fault } => {
                let (fault, played) = (fault.describe(), explain::brief(self.played));
                write!(
                    f,
                    "does not recover: at {load} load, it is not well {played} after a fault of {outage} ({fault})"
                )?;
            }
            CertificateVerdict::Overloaded { by, most } => {
                write!(f, "does not recover: {}", by.describe(self.load, *most))?;
            }
        }
        match self.recovers_up_to {
            Some(most) => write!(f, "; it recovers up to {} load", percent(most)),
            None => f.write_str("; no load was found from which it recovers"),
        }
    }
}

impl Bottleneck {
    /// Without any fault.
    pub(super) fn describe(self, load: f64, most: f64) -> String {
        let what = match self {
            Self::Capacity => return format!("{} load without any fault", percent(load)),
            Self::Rate => "the rate of the gate",
            Self::MaxRunning => "maxRunning of the gate",
            Self::Slots => "the number of worker slots",
        };
        format!("{what} allows {most:.1} jobs per second, fewer than arrive without any fault")
    }
}
