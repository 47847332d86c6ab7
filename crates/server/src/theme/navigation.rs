//! The sections of the dashboard in groups, with the counts that a person looks for first.

use steadfast_core::explain::thousands;

use crate::limits;

/// The name of a group, and its sections.
pub type SectionGroup = (&'static str, Vec<Section>);

pub struct Section {
    pub href: &'static str,
    pub name: &'static str,
    pub tally: Option<String>,
    /// The count is of something that a person should look at.
    pub is_bad: bool,
}

/// The counts beside the sections.
#[derive(Clone, Debug, Default)]
pub struct SectionCounts {
    pub running: u64,
    pub dead_letters: u64,
    /// Destinations that are not healthy.
    pub destinations: usize,
    pub alerts: usize,
    /// Open ones; past a page of them, one more than that.
    pub operations: usize,
}

pub fn groups(counts: &SectionCounts) -> Vec<SectionGroup> {
    let plain = |href, name| Section {
        href,
        name,
        tally: None,
        is_bad: false,
    };
    let counted = |href, name, count: u64, is_bad| Section {
        tally: (count > 0).then(|| thousands(count)),
        is_bad,
        ..plain(href, name)
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    vec![
        (
            "",
            vec![
                plain("/", "Overview"),
                counted("/alerts", "Alerts", number(counts.alerts), true),
            ],
        ),
        (
            "Work",
            vec![
                counted("/jobs", "Jobs", counts.running, false),
                plain("/batches", "Batches"),
                plain("/schedules", "Schedules"),
                counted("/dead-letters", "Dead letters", counts.dead_letters, true),
                plain("/failures", "Failures"),
                Section {
                    tally: operations_tally(counts.operations),
                    ..plain("/operations", "Operations")
                },
            ],
        ),
        (
            "Flow",
            vec![
                plain("/queues", "Queues"),
                plain("/gates", "Gates"),
                counted(
                    "/destinations",
                    "Destinations",
                    number(counts.destinations),
                    true,
                ),
                plain("/nodes", "Nodes and workers"),
            ],
        ),
        (
            "Settings",
            vec![
                plain("/endpoints", "Endpoints"),
                plain("/keys", "Keys"),
                plain("/audit", "Audit"),
                plain("/simulator", "Simulator"),
            ],
        ),
    ]
}

/// The store has no count of them, so as many as fit on a page are counted: `50+`.
fn operations_tally(count: usize) -> Option<String> {
    match count {
        0 => None,
        1..=limits::PAGE_DEFAULT => Some(count.to_string()),
        _ => Some(format!("{}+", limits::PAGE_DEFAULT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_in_one_group_and_zero_counts_are_hidden() {
        let counts = SectionCounts {
            dead_letters: 1_200,
            ..SectionCounts::default()
        };
        let sections: Vec<Section> = groups(&counts).into_iter().flat_map(|it| it.1).collect();
        let counted: Vec<_> = sections.iter().filter(|it| it.tally.is_some()).collect();
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].tally.as_deref(), Some("1,200"));
        let tallies = [0, 1, 50, 51].map(operations_tally);
        assert_eq!(
            tallies,
            [
                None,
                Some("1".into()),
                Some("50".into()),
                Some("50+".into())
            ]
        );
        let mut addresses: Vec<_> = sections.iter().map(|it| it.href).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), sections.len());
    }
}
