//! Fair shares: who has had least is next.

use serde::{Deserialize, Serialize};

use crate::{limits, values::Invalid};

/// What a tenant counts for beside others: one with weight 3 gets three times as much as one with
/// weight 1 while both have due jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct Weight(u16);

impl Weight {
    /// A weight, from 1 to [`limits::WEIGHT_MAX`].
    pub fn new(weight: u16) -> Option<Self> {
        (1..=limits::WEIGHT_MAX)
            .contains(&weight)
            .then_some(Self(weight))
    }

    /// As a number.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1)
    }
}

impl TryFrom<u16> for Weight {
    type Error = Invalid;

    fn try_from(weight: u16) -> Result<Self, Invalid> {
        Self::new(weight).ok_or_else(|| {
            let most = limits::WEIGHT_MAX;
            Invalid::new("weight", weight, format!("must be between 1 and {most}"))
        })
    }
}

/// How much a tenant has had, by its weight. The next claim goes to the one with the least; of equal
/// shares, to the tenant that was served longest ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    used: u64,
    served: u64,
}

// Each job costs something, whatever the weight.
const _: () = assert!(JOB > limits::WEIGHT_MAX as u64);

/// One job of a tenant with weight 1; divisible by many weights.
const JOB: u64 = 5_040; // not a limit: the unit of the scale

impl Share {
    /// After `jobs` more. `served` counts the charges of all tenants.
    #[must_use]
    pub fn after(self, jobs: usize, weight: Weight, served: u64) -> Self {
        let jobs = u64::try_from(jobs).unwrap_or(u64::MAX);
        let cost = jobs.saturating_mul(JOB) / u64::from(weight.get());
        Self {
            used: self.used.saturating_add(cost),
            served,
        }
    }

    /// The share of a tenant that has due jobs again: what it did not use while it had none is not
    /// saved up, and `least` is the least of those that had some. So shares become equal while tenants
    /// wait at a closed gate, and the time of the last service decides between them.
    #[must_use]
    pub fn resumed(self, least: Self) -> Self {
        Self {
            used: self.used.max(least.used),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavier_tenant_is_next_more_often() {
        let weights = [Weight::default(), Weight::new(3).unwrap()];
        let mut shares = [Share::default(); 2];
        let mut claims = [0; 2];
        for served in 0..400 {
            let next = usize::from(shares[1] < shares[0]);
            shares[next] = shares[next].after(1, weights[next], served);
            claims[next] += 1;
        }
        assert_eq!(claims, [100, 300]);
    }

    #[test]
    fn tenants_that_others_have_passed_take_turns() {
        let weight = Weight::default();
        let others = Share::default().after(1_000, weight, 0);
        let loud = Share::default().after(4, weight, 2).resumed(others);
        let quiet = Share::default().after(1, weight, 1).resumed(others);
        assert!(quiet < loud);
        assert!(quiet.after(1, weight, 3) > loud);
    }
}
