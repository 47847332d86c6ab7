//! What happened, in pieces of five seconds.

use std::time::Duration;

use steadfast_core::Timestamp;

const PIECE: Duration = Duration::from_secs(5); // not a limit: as in the documentation
/// All must be well for this number of pieces.
const WELL_PIECES: usize = 12; // not a limit: a minute

pub struct Course {
    began: Timestamp,
    traffic: f64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Default)]
struct Piece {
    ended: u32,
    failed: u32,
    waiting: u64,
}

impl Course {
    pub fn new(began: Timestamp, traffic: f64) -> Self {
        Self {
            began,
            traffic,
            pieces: Vec::new(),
        }
    }

    pub fn end(&mut self, has_failed: bool, at: Timestamp) {
        let piece = self.piece(at);
        piece.ended += 1;
        piece.failed += u32::from(has_failed);
    }

    pub fn wait(&mut self, waiting: u64, at: Timestamp) {
        self.piece(at).waiting = waiting;
    }

    fn piece(&mut self, at: Timestamp) -> &mut Piece {
        let index = self.index(at);
        if self.pieces.len() <= index {
            self.pieces.resize(index + 1, Piece::default());
        }
        &mut self.pieces[index]
    }

    fn index(&self, at: Timestamp) -> usize {
        usize::try_from(at.since(self.began).as_secs() / PIECE.as_secs()).unwrap()
    }

    fn is_well(&self, piece: &Piece) -> bool {
        let most = (self.traffic * PIECE.as_secs_f64()).max(5.0);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let waiting = piece.waiting as f64;
        piece.failed * 20 <= piece.ended && waiting <= most
    }

    pub fn is_settled(&self, now: Timestamp) -> bool {
        let done = &self.pieces[..self.index(now).min(self.pieces.len())];
        let well = done.iter().rev().take_while(|piece| self.is_well(piece));
        well.count() > WELL_PIECES
    }

    /// From a time until all was well for good.
    pub fn recovers_after(&self, end_of_fault: Timestamp) -> Option<Duration> {
        let last_bad = self.pieces.iter().rposition(|piece| !self.is_well(piece));
        let first_well = last_bad.map_or(0, |index| index + 1);
        let at = self.began.plus(PIECE * u32::try_from(first_well).unwrap());
        let is_sure = self.pieces.len() >= first_well + WELL_PIECES;
        is_sure.then(|| at.since(end_of_fault))
    }
}
