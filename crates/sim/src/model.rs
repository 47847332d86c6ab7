//! All that can happen in a small world: two nodes, two jobs, and every order of events up to a
//! depth.
//!
//! `world` says in a page what should happen; `replay` makes it happen on a store. A state of the
//! world that was met before is not gone on from, because the store was found to be in it too.

mod replay;
mod world;

use std::{collections::HashSet, fmt};

use crate::Invariant;
use replay::Replay;
pub use world::Action;
use world::World;

/// The result of the search.
#[derive(Debug, Default)]
pub struct Exploration {
    pub worlds: usize,
    pub edges: usize,
    pub depth: usize,
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            worlds,
            edges,
            depth,
        } = self;
        write!(
            f,
            "{worlds} worlds, {edges} steps between them, to depth {depth}"
        )
    }
}

/// A way to a state in which store and model differ, or an invariant does not hold.
#[derive(Debug)]
pub struct Mismatch {
    pub path: Vec<Action>,
    pub invariant: Option<Invariant>,
    pub why: String,
}

/// Goes every way, as deep as is asked.
pub fn explore(depth: usize) -> Result<Exploration, Mismatch> {
    let mut met = HashSet::from([World::new()]);
    let mut frontier: Vec<(World, Vec<Action>)> = vec![(World::new(), Vec::new())];
    let mut explored = Exploration {
        depth,
        ..Exploration::default()
    };
    for _ in 0..depth {
        let mut next = Vec::new();
        for (world, path) in frontier {
            for action in Action::all().filter(|action| world.allows(*action)) {
                let mut path = path.clone();
                path.push(action);
                let after = check(&world, &path)?;
                explored.edges += 1;
                if met.insert(after.clone()) {
                    next.push((after, path));
                }
            }
        }
        frontier = next;
    }
    explored.worlds = met.len();
    Ok(explored)
}

/// Takes the last step of a path in the model and on a store, and compares.
fn check(world: &World, path: &[Action]) -> Result<World, Mismatch> {
    let (action, before) = path.split_last().unwrap_or((&Action::Summary, &[]));
    let mut replay = Replay::new();
    for action in before {
        replay.take(*action);
    }
    let mut expected = world.clone();
    let predicted = expected.take(*action);
    let answered = replay.take(*action);
    let differs = |invariant, why| Mismatch {
        path: path.to_vec(),
        invariant,
        why,
    };
    if let Some(broken) = world.broken_by(*action, answered) {
        return Err(differs(
            Some(broken),
            format!("the store answered {answered:?}"),
        ));
    }
    if predicted != answered {
        let why = format!("the store answered {answered:?}, the model {predicted:?}");
        return Err(differs(None, why));
    }
    let (found, wanted) = (replay.jobs(), expected.jobs());
    if found != wanted {
        let why = format!("the store holds {found:?}, the model {wanted:?}");
        return Err(differs(None, why));
    }
    if let Some(broken) = expected.broken(replay.dead_letters()) {
        return Err(differs(Some(broken), format!("the store holds {found:?}")));
    }
    Ok(expected)
}
