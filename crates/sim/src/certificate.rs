//! Certificates against the real engine: the same settings, the same faults, and a target that is
//! not the one of the model.
//!
//! Nodes of the real engine claim from a store in memory under a clock that moves from event to
//! event. Their target has servers and a queue, its answers take uneven times, and jobs arrive at
//! random. What it is called when all is well is the same as in the documentation: in five seconds
//! at most one attempt in twenty fails, and no more jobs wait than arrive in that time.

mod course;
mod settings;
mod target;
mod world;

use std::time::Duration;

use rand::{SeedableRng as _, rngs::StdRng};
use steadfast_core::{CertificateSettings, Fault};

pub use settings::random_settings;
use world::World;

/// How a prediction compares with what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Both recover, in times that are near each other.
    SameRecovery,
    /// Both recover, in times that differ.
    OtherTime,
    /// Neither recovers.
    BothStayDown,
    /// It recovers, which the certificate does not promise.
    TooCautious,
    /// It does not recover, and the certificate says that it does.
    WrongPromise,
}

/// One setting and fault, predicted and played.
#[derive(Debug)]
pub struct Trial {
    pub settings: CertificateSettings,
    pub fault: Fault,
    pub predicted: Option<Duration>,
    pub happened: Option<Duration>,
}

impl Trial {
    /// Predicts and plays the settings of a seed.
    pub fn run(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let (settings, fault) = random_settings(&mut random);
        let predicted = settings.play_fault(fault, seed).unwrap().recovers_after;
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let happened = runtime.block_on(World::new(&settings, fault, random).run());
        Self {
            settings,
            fault,
            predicted,
            happened,
        }
    }

    pub fn comparison(&self) -> Comparison {
        match (self.predicted, self.happened) {
            (Some(predicted), Some(happened)) => match is_near(predicted, happened) {
                true => Comparison::SameRecovery,
                false => Comparison::OtherTime,
            },
            (None, None) => Comparison::BothStayDown,
            (None, Some(_)) => Comparison::TooCautious,
            (Some(_), None) => Comparison::WrongPromise,
        }
    }
}

/// A fifth, or three of the pieces in which both count.
fn is_near(predicted: Duration, happened: Duration) -> bool {
    predicted.abs_diff(happened) <= (happened / 5).max(Duration::from_secs(15))
}
