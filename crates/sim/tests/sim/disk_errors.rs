//! The disk fails and recovers; callers learn of it, and nothing that was acknowledged is lost.
//!
//! A write finds the disk full, a sync fails and what it should have written is lost, a file can
//! not be made or deleted: once, or until a caller learns of it. What is answered and stored is checked while
//! the store lives on; then the power fails too.
//!
//! A sync that fails while a file is opened is looked at without a power failure after it. The
//! operating system then shows what it could not write to the next process that opens the file, and no
//! program can tell; that takes a restart of the machine.

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_sim::{
    power::{Disk, DiskSetup, FaultRange, Play, Sweep, SweepReport, SyncMode},
    prove,
};

/// As many as a debug build lives through in half a minute.
const TROUBLES: u64 = 24;
const OPENING: DiskSetup = DiskSetup {
    ends_when_open: true,
    syncing: SyncMode::Honest,
    trouble: None,
    hasty: false,
    small_pages: false,
};
/// After each, the power fails at this many moments.
const POINTS: u64 = 4;

#[test]
fn a_disk_error_reaches_the_caller_and_nothing_acknowledged_is_lost() {
    let seed = prove::seed();
    let times = prove::times(TROUBLES);
    eprintln!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let disk = Disk::new();
    let opening = Play::record(disk, OPENING).asked;
    let operations = Play::record(disk, DiskSetup::default()).asked - opening;
    let (mut failed, mut refused) = (0, 0);
    let mut sum = SweepReport::default();
    for time in 0..times {
        let trouble = FaultRange {
            first: opening + place(time, times, operations, &mut random),
            count: if random.random() { 1 } else { u64::MAX },
        };
        let setting = DiskSetup {
            trouble: Some(trouble),
            ..DiskSetup::default()
        };
        let recording = Play::record(disk, setting);
        failed += recording.failed;
        refused += recording.refused;
        match Sweep::new(&recording, random.random()).run(POINTS) {
            Ok(swept) => sum.add(swept),
            Err(lost) => panic!("{trouble:?}, with seed {seed}: {lost}"),
        }
    }
    assert!(failed >= times, "each fault happened");
    prove::tell(
        "disk errors",
        &[
            ("operations that failed", failed),
            ("calls told of it", refused),
            ("fault points swept after it", sum.points),
            ("images opened after it", sum.images),
            ("acknowledged facts checked", sum.facts),
        ],
    );
}

#[test]
fn a_disk_that_fails_while_a_file_is_made_leaves_one_that_is_made_whole() {
    let disk = Disk::new();
    for first in 0..Play::record(disk, OPENING).asked {
        let recording = Play::record(
            disk,
            DiskSetup {
                trouble: Some(FaultRange { first, count: 1 }),
                ..OPENING
            },
        );
        assert_eq!(recording.failed, 1, "operation {first}");
    }
}

/// Which operation fails: one of each of `times` ranges, or all in order.
fn place(time: u64, times: u64, operations: u64, random: &mut StdRng) -> u64 {
    let start = |time: u64| time * operations / times;
    match times < operations {
        true => random.random_range(start(time)..start(time + 1)),
        false => time % operations,
    }
}
