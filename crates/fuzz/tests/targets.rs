//! Every target over its corpus, and a short way beyond.

use steadfast_fuzz::{TARGETS, prove};

macro_rules! proofs {
    ($($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            prove(steadfast_fuzz::$name);
        })+

        #[test]
        fn every_target_is_proved() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

proofs! {
    api,
    cron,
    cursor,
    duration,
    failure,
    policy,
    settings,
    wire,
}
