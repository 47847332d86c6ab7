//! When all is well again, read off what happened in each few seconds.

use std::time::Duration;

use super::{Fault, FaultResult, SystemState};
use crate::{limits, values::Timestamp};

/// What happened in a run, in pieces of equal length.
pub struct Course {
    began: Timestamp,
    /// When the fault ended.
    pub fault_ended: Timestamp,
    pub piece: Duration,
    /// Jobs that arrive per second without a fault.
    traffic: f64,
    pieces: Vec<Piece>,
    /// Since the fault began.
    pub attempts: u64,
    pub dead_letters: u64,
    pub waiting_max: u64,
}

#[derive(Clone, Copy, Default)]
struct Piece {
    succeeded: u64,
    failed: u64,
    /// Due jobs that waited for their start when it ended.
    waiting: u64,
}

impl Course {
    pub fn new(began: Timestamp, fault_ended: Timestamp, piece: Duration, traffic: f64) -> Self {
        Self {
            began,
            fault_ended,
            piece,
            traffic,
            pieces: Vec::new(),
            attempts: 0,
            dead_letters: 0,
            waiting_max: 0,
        }
    }

    pub fn succeed(&mut self, count: u32, at: Timestamp) {
        self.piece_mut(at).succeeded += u64::from(count);
    }

    pub fn fail(&mut self, count: u32, at: Timestamp) {
        self.piece_mut(at).failed += u64::from(count);
    }

    pub fn wait(&mut self, waiting: u64, at: Timestamp) {
        self.piece_mut(at).waiting = waiting;
        self.waiting_max = self.waiting_max.max(waiting);
    }

    fn piece_mut(&mut self, at: Timestamp) -> &mut Piece {
        let number = at.since(self.began).as_micros() / self.piece.as_micros().max(1);
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let index = index.min(limits::CERTIFICATE_PIECES_MAX - 1);
        if self.pieces.len() <= index {
            self.pieces.resize(index + 1, Piece::default());
        }
        &mut self.pieces[index]
    }

    /// Whether all is well in a piece: at most one attempt in twenty fails, and no more jobs wait
    /// for their start than arrive in a few seconds.
    fn is_well(&self, piece: &Piece) -> bool {
        let ended = piece.succeeded + piece.failed;
        piece.failed * 20 <= ended && count(piece.waiting) <= self.waiting_allowed()
    }

    fn waiting_allowed(&self) -> f64 {
        (self.traffic * self.piece.as_secs_f64()).max(5.0)
    }

    /// For how many whole pieces all has been well, up to a time; counts no further than is asked
    /// for.
    pub fn well_pieces(&self, now: Timestamp) -> usize {
        let done = now.since(self.began).as_micros() / self.piece.as_micros().max(1);
        let done = usize::try_from(done).unwrap_or(0);
        let done = self.pieces.get(..done).unwrap_or(&self.pieces);
        let last = done.iter().rev().take(limits::CERTIFICATE_WELL_PIECES + 1);
        last.take_while(|piece| self.is_well(piece)).count()
    }

    /// From the end of the fault until all was well for good; `None` if it was not long enough
    /// before the end.
    pub fn recovers_after(&self) -> Option<Duration> {
        let last_bad = self.pieces.iter().rposition(|piece| !self.is_well(piece));
        let first_well = last_bad.map_or(0, |index| index + 1);
        let is_sure = self.pieces.len() >= first_well + limits::CERTIFICATE_WELL_PIECES;
        is_sure.then(|| self.piece_start(first_well).since(self.fault_ended))
    }

    fn piece_start(&self, index: usize) -> Timestamp {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.began.plus(self.piece.saturating_mul(index))
    }

    /// How the system was in each of `columns` spans of equal length; what was not played is
    /// as it was at the end.
    pub fn states(&self, span: Duration, columns: usize) -> Vec<SystemState> {
        let of_piece = |piece: &Piece| {
            let arrived = self.traffic * self.piece.as_secs_f64();
            match self.is_well(piece) {
                true => SystemState::Well,
                false if count(piece.succeeded) * 2.0 < arrived => SystemState::Down,
                false => SystemState::Degraded,
            }
        };
        let afterwards = match (self.recovers_after(), self.pieces.last()) {
            (None, Some(last)) => of_piece(last).max(SystemState::Degraded),
            _ => SystemState::Well,
        };
        let pieces = span.as_micros().div_ceil(self.piece.as_micros().max(1));
        let pieces = usize::try_from(pieces).unwrap_or(usize::MAX).max(1);
        let columns = (0..columns).map(|column| {
            let from = column * pieces / columns;
            let to = ((column + 1) * pieces / columns).max(from + 1);
            let known = self.pieces.iter().take(to).skip(from);
            known.map(of_piece).max().unwrap_or(afterwards)
        });
        columns.collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}

/// One result per fault, in their order.
pub(super) fn results(courses: &[Course]) -> Vec<FaultResult> {
    let faults = Fault::ALL.iter().zip(courses);
    faults
        .map(|(fault, course)| result(*fault, course))
        .collect()
}

pub(super) fn result(fault: Fault, course: &Course) -> FaultResult {
    FaultResult {
        fault,
        recovers_after: course.recovers_after(),
        attempts: course.attempts,
        dead_letters: course.dead_letters,
        waiting_max: course.waiting_max,
    }
}
