//! The power fails at any moment, and nothing that was acknowledged is lost.

use steadfast_sim::{
    power::{DataLoss, Disk, DiskSetup, Play, Sweep, SweepReport, SyncMode},
    prove,
};

/// As many moments as a debug build opens the remains of in half a minute.
const POINTS: u64 = 120;
/// Each several times: what is torn here was never whole.
const POINTS_OF_OPENING: u64 = 150;
/// There are more of them, and each has more to read.
const POINTS_WITH_SMALL_PAGES: u64 = 50;
/// A planted bug that shows at none of these is as good as not found.
const POINTS_PLANTED: u64 = 60;

#[test]
fn a_power_failure_loses_nothing_that_was_acknowledged() {
    hold(DiskSetup::default(), POINTS);
}

#[test]
fn a_power_failure_while_a_file_is_made_leaves_one_that_opens() {
    let setting = DiskSetup {
        ends_when_open: true,
        ..DiskSetup::default()
    };
    hold(setting, POINTS_OF_OPENING);
}

#[test]
fn a_power_failure_while_the_log_is_folded_loses_nothing() {
    let setting = DiskSetup {
        small_pages: true,
        ..DiskSetup::default()
    };
    hold(setting, POINTS_WITH_SMALL_PAGES);
}

#[test]
fn a_disk_that_lies_about_syncing_is_found_out() {
    let setting = DiskSetup {
        syncing: SyncMode::Lies,
        ..DiskSetup::default()
    };
    find(setting);
}

#[test]
fn a_log_that_is_not_synced_with_each_commit_is_found_out() {
    let setting = DiskSetup {
        syncing: SyncMode::NotTheLog,
        ..DiskSetup::default()
    };
    find(setting);
}

#[test]
fn an_acknowledgement_before_the_commit_is_found_out() {
    let setting = DiskSetup {
        hasty: true,
        ..DiskSetup::default()
    };
    find(setting);
}

fn hold(setting: DiskSetup, usual: u64) {
    let (seed, points) = (prove::seed(), prove::times(usual));
    match sweep(setting, seed, points) {
        Ok(swept) => prove::tell(
            "power loss",
            &[
                ("I/O operations recorded", swept.operations),
                ("fault points swept", swept.points),
                ("images opened", swept.images),
                ("acknowledged facts checked", swept.facts),
            ],
        ),
        Err(lost) => panic!(
            "{lost}\nto see it again: STEADFAST_PROVE_SEED={seed} STEADFAST_PROVE_TIMES={points} \
             cargo test -p steadfast-sim power::"
        ),
    }
}

fn find(setting: DiskSetup) {
    let seed = prove::seed();
    match sweep(setting, seed, POINTS_PLANTED) {
        Err(lost) => eprintln!("found: {lost}"),
        Ok(swept) => panic!("not found with seed {seed}: {swept:?}"),
    }
}

fn sweep(setting: DiskSetup, seed: u64, points: u64) -> Result<SweepReport, DataLoss> {
    let recording = Play::record(Disk::new(), setting);
    Sweep::new(&recording, seed).run(points)
}
