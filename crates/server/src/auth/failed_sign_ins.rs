//! Failed sign-ins by address: guessing gets slower for the guesser, and for no other caller.
//!
//! The table is bounded. When it is full, the half that failed longest ago makes room, so an attacker
//! with many addresses can make the table forget, but neither grow nor walk over it at each request.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use tokio::time::Instant;

use crate::limits::{FAILED_SIGN_IN_ADDRESSES_MAX, FAILED_SIGN_INS_MAX, FAILED_SIGN_INS_WINDOW};

/// The failed sign-ins of the last minutes.
#[derive(Default)]
pub struct FailedSignIns(Mutex<HashMap<IpAddr, Failures>>);

struct Failures {
    first: Instant,
    count: usize,
}

impl FailedSignIns {
    /// Whether this address has failed too often to try again now.
    pub fn is_blocked(&self, address: IpAddr) -> bool {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = table.get(&address).filter(|it| it.is_recent());
        failures.is_some_and(|it| it.count >= FAILED_SIGN_INS_MAX)
    }

    /// Counts one more, and returns how many there were in the window.
    pub fn add(&self, address: IpAddr) -> usize {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= FAILED_SIGN_IN_ADDRESSES_MAX && !table.contains_key(&address) {
            table.retain(|_, it| it.is_recent());
            if table.len() >= FAILED_SIGN_IN_ADDRESSES_MAX {
                forget_older_half(&mut table);
            }
        }
        let failures = table.entry(address).or_insert_with(Failures::new);
        if !failures.is_recent() {
            *failures = Failures::new();
        }
        failures.count += 1;
        failures.count
    }
}

fn forget_older_half(table: &mut HashMap<IpAddr, Failures>) {
    let mut times: Vec<(Instant, IpAddr)> = table
        .iter()
        .map(|(address, it)| (it.first, *address))
        .collect();
    let half = times.len() / 2;
    times.sort_unstable();
    for (_, address) in &times[..half] {
        table.remove(address);
    }
}

impl Failures {
    fn new() -> Self {
        Self {
            first: Instant::now(),
            count: 0,
        }
    }

    fn is_recent(&self) -> bool {
        self.first.elapsed() < FAILED_SIGN_INS_WINDOW
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_fails_too_often_waits_and_the_table_is_bounded() {
        let failed = FailedSignIns::default();
        let (one, other) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..FAILED_SIGN_INS_MAX {
            assert!(!failed.is_blocked(one));
            failed.add(one);
        }
        assert!(failed.is_blocked(one) && !failed.is_blocked(other));
        tokio::time::advance(FAILED_SIGN_INS_WINDOW).await;
        assert!(!failed.is_blocked(one));
        for number in 0..2 * FAILED_SIGN_IN_ADDRESSES_MAX {
            let number = u32::try_from(number).unwrap();
            let address = Ipv4Addr::from_bits(number).into();
            assert_eq!(failed.add(address), 1);
            assert_eq!(failed.add(address), 2, "the newest is kept");
        }
        let known = failed.0.lock().unwrap().len();
        assert!((FAILED_SIGN_IN_ADDRESSES_MAX / 2..=FAILED_SIGN_IN_ADDRESSES_MAX).contains(&known));
    }
}
