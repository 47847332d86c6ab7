//! A certificate: what follows from each fault, and a picture of load against time.

use std::time::Duration;

use comfy_table::CellAlignment;
use steadfast_api::PolicyCertificateBody;
use steadfast_core::SystemState;

use super::{Table, brief, plain_table, thousands};

/// What follows from each fault.
pub fn certificate_table(certificate: &PolicyCertificateBody) -> Table {
    let mut table = plain_table(["fault", "recovers after", "attempts", "given up", "waiting"]);
    for fault in &certificate.faults {
        table.add_row(vec![
            fault.fault.describe().to_owned(),
            recovery(fault.recovers_after_ms, certificate.simulated_ms),
            thousands(fault.attempts),
            thousands(fault.dead_letters),
            thousands(fault.waiting_max),
        ]);
    }
    for index in 1..=4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// What comes after the simulated time is not known.
fn recovery(millis: Option<u64>, simulated: u64) -> String {
    let time = |millis| brief(Duration::from_millis(millis));
    millis.map_or_else(|| format!("not within {}", time(simulated)), time)
}

/// One line per load, the highest first; below them, when the fault begins and ends.
pub fn certificate_lines(certificate: &PolicyCertificateBody) -> Vec<String> {
    let picture = &certificate.picture;
    let mut lines: Vec<String> = Vec::new();
    for row in picture.rows.iter().rev() {
        let states: String = row.states.iter().map(|state| mark(*state)).collect();
        let mark = if row.is_given { '>' } else { ' ' };
        let after = match row.recovers_after_ms {
            Some(millis) => format!("well after {}", brief(Duration::from_millis(millis))),
            None => "does not recover".to_owned(),
        };
        lines.push(format!(
            "{mark}{:>4.0} % {states} {after}",
            row.load * 100.0
        ));
    }
    let columns = picture.rows.first().map_or(0, |row| row.states.len());
    let column = |millis: u64| {
        let columns = u64::try_from(columns).unwrap_or(0);
        usize::try_from(millis * columns / picture.span_ms.max(1)).unwrap_or(0)
    };
    let (from, to) = (column(picture.fault_from_ms), column(picture.fault_to_ms));
    let length = brief(Duration::from_millis(picture.span_ms));
    let fault = "-".repeat(to.saturating_sub(from).max(1));
    lines.push(format!(
        "  load {}{fault} fault; {length} in all",
        " ".repeat(from + 1)
    ));
    lines.push("  · well   ░ jobs fail or wait   █ down".to_owned());
    lines
}

fn mark(state: SystemState) -> char {
    match state {
        SystemState::Well => '·',
        SystemState::Degraded => '░',
        SystemState::Down => '█',
    }
}
