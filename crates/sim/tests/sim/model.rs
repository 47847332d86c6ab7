//! Every order of events in a small world comes to what the model says.

use steadfast_sim::{model::explore, prove};

/// As deep as a debug build goes in a few seconds; further on demand.
const DEPTH: usize = 8;

#[test]
fn every_way_through_a_small_world_is_as_the_model_says() {
    let asked = std::env::var("STEADFAST_PROVE_DEPTH").ok();
    let depth = asked.and_then(|text| text.parse().ok()).unwrap_or(DEPTH);
    match explore(depth) {
        Ok(explored) => {
            assert!(explored.worlds > 5_000, "{explored}");
            prove::tell(
                "model",
                &[
                    ("worlds", explored.worlds as u64),
                    ("transitions", explored.edges as u64),
                ],
            );
        }
        Err(differs) => panic!("{differs:#?}"),
    }
}
