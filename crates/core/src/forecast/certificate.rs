//! A certificate: whether jobs and the system they call recover by themselves after an outage.
//!
//! A metastable failure is one that goes on after its cause is gone: retries keep the target so
//! busy that it answers only after the callers have stopped waiting, which makes more retries. No
//! formula covers a policy together with gates, holds and call windows, so [`certify`] plays
//! outages and overloads through the real decider, the real gates and the real health step, on a
//! virtual clock, against a model of the target.
//!
//! The model is a queue: `capacity` calls per second, each answered `latency` after its turn. A
//! target works off calls whose callers have stopped waiting, which is the worst case. Jobs travel
//! in groups that share a state and a roll, so that traffic of any size costs the same.
//!
//! Real traffic is less even than that of the model. So the target of the model is slower by
//! [`limits::CERTIFICATE_MARGIN`](crate::limits::CERTIFICATE_MARGIN) than what was given, and a load this near to the limit counts as
//! one that does not recover.

mod callers;
mod change;
mod fault;
mod health;
mod picture;
mod recovery;
mod settings;
mod simulation;
mod system_state;
mod target;
mod verdict;

use crate::values::Invalid;

pub use change::CertificateChange;
pub use fault::{Fault, FaultResult};
pub use picture::{CertificatePicture, CertificateRow};
pub use settings::{CallerSettings, CertificateSettings, TargetSettings};
pub use system_state::SystemState;
pub use verdict::{Bottleneck, Certificate, CertificateVerdict};

use simulation::Simulation;

/// Plays outages and overloads, and says whether the system recovers. The seed decides every roll,
/// so that a certificate can be repeated. Arithmetic that may take a second or two, so not for an
/// async thread.
pub fn certify(settings: &CertificateSettings, seed: u64) -> Result<Certificate, Invalid> {
    settings.check()?;
    verdict::of(settings, seed)
}

impl CertificateSettings {
    /// What follows from one fault: a part of a certificate.
    pub fn play_fault(&self, fault: Fault, seed: u64) -> Result<FaultResult, Invalid> {
        self.check()?;
        Ok(recovery::result(fault, &self.play(fault, seed)?))
    }

    /// For how long after the end of a fault it is played at most.
    pub fn simulated_after(&self) -> std::time::Duration {
        self.patience()
    }

    /// What follows from one fault, with the margin that a certificate keeps.
    fn play(&self, fault: Fault, seed: u64) -> Result<recovery::Course, Invalid> {
        Ok(Simulation::new(self, fault, seed)?.run())
    }
}

#[cfg(test)]
mod tests;
