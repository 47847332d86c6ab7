//! Outcomes, counted by several nodes over the last minute or so.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::HealthRules;
use crate::{
    limits,
    values::{JobId, Timestamp},
};

/// How attempts ended, in pieces of a few seconds. Counts of two nodes can be added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutcomeCounts {
    /// The oldest first.
    pieces: Vec<Piece>,
}

/// `[piece since 1970, ended, failed, [jobs]]`. A job is only in the newest of its pieces, and only
/// as many jobs are kept as rules can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece(i64, u32, u32, Vec<u32>);

impl OutcomeCounts {
    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many attempts ended.
    pub fn ended(&self) -> u32 {
        self.total(|piece| piece.1)
    }

    /// How many of them failed because of the destination.
    pub fn failed(&self) -> u32 {
        self.total(|piece| piece.2)
    }

    /// How many different jobs they were of, up to [`limits::HEALTH_MIN_JOBS_MAX`].
    pub fn jobs(&self) -> u32 {
        self.total(|piece| u32::try_from(piece.3.len()).unwrap_or(u32::MAX))
    }

    /// When each piece began, how many attempts ended in it, and how many of them failed.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Timestamp, u32, u32)> {
        let length = i64::try_from(limits::HEALTH_PIECE.as_micros()).unwrap_or(i64::MAX);
        self.pieces
            .iter()
            .map(move |Piece(number, ended, failed, _)| {
                let began = Timestamp::from_micros(number.saturating_mul(length));
                (began, *ended, *failed)
            })
    }

    fn total(&self, of: impl Fn(&Piece) -> u32) -> u32 {
        self.pieces
            .iter()
            .fold(0, |total, piece| total.saturating_add(of(piece)))
    }

    /// Adds attempts of different jobs, which have this id and those before it.
    pub(super) fn add(&mut self, last: JobId, has_failed: bool, at: Timestamp, count: u32) {
        let failed = if has_failed { count } else { 0 };
        let jobs = 0..count.min(limits::HEALTH_GROUP_JOBS_MAX);
        let jobs = jobs.map(|job| fingerprint(JobId::from_bits(last.bits() - u128::from(job))));
        let piece = Piece(number(at), count, failed, jobs.collect());
        self.add_piece(&piece);
        self.keep_jobs();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for piece in &other.pieces {
            self.add_piece(piece);
        }
        self.keep_jobs();
    }

    fn add_piece(&mut self, piece: &Piece) {
        let Piece(number, ended, failed, jobs) = piece;
        let mut at = self.pieces.partition_point(|known| known.0 < *number);
        if self.pieces.get(at).is_none_or(|known| known.0 != *number) {
            if self.pieces.len() >= limits::HEALTH_PIECES_MAX {
                // Older than all of them, it is left out.
                let Some(before) = at.checked_sub(1) else {
                    return;
                };
                self.pieces.remove(0);
                at = before;
            }
            self.pieces.insert(at, Piece(*number, 0, 0, Vec::new()));
        }
        for job in jobs {
            let is_newer = self.pieces[at..].iter().any(|known| known.3.contains(job));
            if !is_newer {
                for known in &mut self.pieces[..at] {
                    known.3.retain(|known| known != job);
                }
                self.pieces[at].3.push(*job);
            }
        }
        let known = &mut self.pieces[at];
        known.1 = known.1.saturating_add(*ended);
        known.2 = known.2.saturating_add(*failed);
    }

    /// The newest jobs, as many as rules can ask for.
    fn keep_jobs(&mut self) {
        let mut room = limits::HEALTH_MIN_JOBS_MAX as usize;
        for piece in self.pieces.iter_mut().rev() {
            piece.3.truncate(room);
            room -= piece.3.len();
        }
    }

    /// Leaves out what did not end within the window before `now`, which is also what a clock
    /// counted that has been set back since.
    pub(super) fn keep_window(&mut self, window: std::time::Duration, now: Timestamp) {
        let kept = self::window(window, now);
        self.pieces.retain(|piece| kept.contains(&piece.0));
    }

    /// Whether they show that the destination does not work.
    pub(super) fn are_bad(&self, rules: &HealthRules) -> bool {
        self.ended() >= rules.min_attempts
            && self.jobs() >= rules.min_jobs
            && self.failed_share() >= rules.failed_share
    }

    /// Whether they show that it works.
    pub(super) fn are_good(&self, rules: &HealthRules) -> bool {
        self.ended() >= rules.min_attempts && self.failed_share() < rules.failed_share / 2.0
    }

    /// The share of failures; 0 if no attempt ended.
    pub(super) fn failed_share(&self) -> f64 {
        match self.ended() {
            0 => 0.0,
            ended => f64::from(self.failed()) / f64::from(ended),
        }
    }
}

/// The pieces of a window that ends now.
pub(super) fn window(window: std::time::Duration, now: Timestamp) -> RangeInclusive<i64> {
    let oldest = number(now.minus(window)) + 1;
    oldest..=number(now.plus(limits::CLOCK_STEP_MAX))
}

pub(super) fn number(at: Timestamp) -> i64 {
    let piece = i64::try_from(limits::HEALTH_PIECE.as_micros()).unwrap_or(i64::MAX);
    at.as_micros() / piece
}

/// 32 bits of an id, whose last bits are random.
fn fingerprint(job: JobId) -> u32 {
    let bits = job.bits();
    let word = |shift: u32| u32::try_from(bits >> shift & u128::from(u32::MAX)).unwrap_or(0);
    word(0) ^ word(32) ^ word(64) ^ word(96)
}
