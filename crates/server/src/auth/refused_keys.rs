//! Refused keys in the log: enough to see an attack, and too few lines to fill a disk.
//!
//! A key of 256 bits cannot be guessed, so an address with wrong keys need not wait: behind a proxy it
//! is that of all callers. But an attempt should be seen.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use tokio::time::Instant;

use super::failed_sign_ins::FailedSignIns;
use crate::limits::{FAILED_SIGN_INS_WINDOW, REFUSED_KEY_LINES_MAX};

/// The refused keys of the last minutes.
#[derive(Default)]
pub struct RefusedKeys {
    addresses: FailedSignIns,
    lines: Mutex<Option<Lines>>,
}

struct Lines {
    first: Instant,
    count: usize,
}

impl RefusedKeys {
    /// Counts a key that this address sent, and logs the 1st, 10th, 100th and so on of a window.
    pub fn add(&self, address: IpAddr) {
        if let Some(count) = self.count_to_log(address) {
            tracing::warn!(
                %address,
                count,
                "API keys refused: unknown, revoked or expired (in the last 5 minutes)"
            );
        }
    }

    fn count_to_log(&self, address: IpAddr) -> Option<usize> {
        let count = self.addresses.add(address);
        let is_power_of_ten = 10_usize.pow(count.ilog10()) == count;
        if !is_power_of_ten {
            return None;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = match &mut *lines {
            Some(lines) if lines.first.elapsed() < FAILED_SIGN_INS_WINDOW => lines,
            old => old.insert(Lines {
                first: Instant::now(),
                count: 0,
            }),
        };
        lines.count += 1;
        (lines.count <= REFUSED_KEY_LINES_MAX).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn refused_keys_leave_few_lines_for_an_address_and_for_all() {
        let refused = RefusedKeys::default();
        let one = [10, 0, 0, 1].into();
        let lines = |_| refused.count_to_log(one);
        let logged: Vec<usize> = (0..1_800).filter_map(lines).collect();
        assert_eq!(logged, [1, 10, 100, 1_000]);
        let lines = |number| refused.count_to_log(Ipv4Addr::from_bits(number).into());
        let logged = (0..2_000).filter_map(lines).count();
        assert_eq!(logged, REFUSED_KEY_LINES_MAX - 4);
        tokio::time::advance(FAILED_SIGN_INS_WINDOW).await;
        assert_eq!(refused.count_to_log(one), Some(1));
    }
}
