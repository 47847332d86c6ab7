//! The execution log: the attempts of a job, as a table.

use comfy_table::CellAlignment;
use steadfast_api::AttemptBody;

use super::{
    Table, attempt_name, attempt_result, boxed_table, job::amounts_text, status_cell, thousands,
};

/// Attempts in the order in which they happened. A line marks where a person requeued the job,
/// after which the retries count from the beginning.
pub fn execution_log<'a>(attempts: impl Iterator<Item = &'a AttemptBody>) -> Table {
    let mut table = boxed_table(["Attempt", "Status", "Duration", "Notes"]);
    for attempt in attempts {
        if attempt.requeued {
            table.add_row(["requeued", "", "", &requeue_note(attempt)]);
        }
        let notes = match (attempt_result(attempt), &attempt.explanation) {
            (result, Some(explanation)) if result.is_empty() => explanation.clone(),
            (result, Some(explanation)) => format!("{result}\n→ {explanation}"),
            (result, None) => result,
        };
        let notes = match amounts_text(&attempt.usage) {
            Some(used) if notes.is_empty() => format!("used {used}"),
            Some(used) => format!("{notes}\nused {used}"),
            None => notes,
        };
        let notes = match trace_lines(attempt) {
            0 => notes,
            1 => format!("{notes}\nstack trace of 1 line"),
            lines => format!("{notes}\nstack trace of {lines} lines"),
        };
        table.add_row(vec![
            attempt_name(attempt).into(),
            status_cell(attempt.status.as_str()),
            format!("{}ms", thousands(attempt.duration_ms)).into(),
            notes.into(),
        ]);
    }
    if let Some(duration) = table.column_mut(2) {
        duration.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// `by ada, with a new retry budget`.
pub fn requeue_note(attempt: &AttemptBody) -> String {
    let by = attempt.requeued_by.as_ref();
    let by = by.map_or(String::new(), |by| format!("by {by}, "));
    format!("{by}with a new retry budget")
}

fn trace_lines(attempt: &AttemptBody) -> usize {
    let failure = attempt.failure.as_ref();
    let trace = failure.and_then(|failure| failure.trace.as_ref());
    trace.map_or(0, |trace| trace.lines().count())
}

/// The stack trace of the newest attempt that has one, for `jobs show`.
pub fn newest_trace(attempts: &[AttemptBody]) -> Option<String> {
    let mut attempts = attempts.iter().rev();
    attempts.find_map(|attempt| {
        let trace = attempt.failure.as_ref()?.trace.as_ref()?;
        let number = attempt.attempt;
        Some(format!("Stack trace of attempt {number}:\n{trace}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attempt(number: u32, before: u32, more: serde_json::Value) -> AttemptBody {
        let retry = number - before - 1;
        let mut attempt = json!({
            "jobId": "job_01900000000000000000000001", "attempt": number, "attemptsBefore": before,
            "retryCount": retry, "requeued": before > 0 && retry == 0, "status": "FAILED",
            "executionTime": "2026-01-01T12:00:00Z", "finishedAt": "2026-01-01T12:00:01.234Z",
            "durationMs": 1234, "worker": null, "failure": null, "response": null, "result": null,
            "note": null, "explanation": null, "decision": null, "nextRunAt": null,
        });
        for (key, value) in more.as_object().unwrap() {
            attempt[key] = value.clone();
        }
        serde_json::from_value(attempt).unwrap()
    }

    #[test]
    fn the_class_of_a_failure_and_what_was_returned_are_shown() {
        let result = |more| attempt_result(&attempt(1, 0, more));
        let failed = |class: &str, message: &str| {
            result(json!({"failure": {"class": class, "message": message}}))
        };
        assert_eq!(failed("KeyError", "'name'"), "KeyError: 'name'");
        assert_eq!(
            failed("http", "503 Service Unavailable"),
            "503 Service Unavailable"
        );
        assert_eq!(failed("error", "no"), "no");
        assert_eq!(
            failed("panic", "panicked at main.rs"),
            "panicked at main.rs"
        );
        let returned = json!({"status": "SUCCESS", "result": {"n": 1}, "note": "half way"});
        assert_eq!(result(returned), r#"returned {"n":1}"#);
        assert_eq!(result(json!({"note": "half way"})), "half way");
    }

    #[test]
    fn a_stack_trace_is_announced_and_the_newest_is_shown() {
        let failed = |number, trace: &str| {
            let failure = json!({"class": "ValueError", "message": "no", "trace": trace});
            attempt(number, 0, json!({"failure": failure}))
        };
        let attempts = [failed(1, "one\ntwo"), failed(2, "three")];
        let table = execution_log(attempts.iter()).to_string();
        assert!(table.contains("stack trace of 2 lines"), "{table}");
        assert!(table.contains("stack trace of 1 line"), "{table}");
        let newest = newest_trace(&attempts).unwrap();
        assert_eq!(newest, "Stack trace of attempt 2:\nthree");
        assert_eq!(newest_trace(&[attempt(1, 0, json!({}))]), None);
    }

    #[test]
    fn retries_count_from_the_beginning_after_a_requeue() {
        let failed = json!({
            "failure": {"class": "http", "message": "503 Service Unavailable"},
            "explanation": "Not retried: the only retry of the policy is used up.",
        });
        let attempts = [
            attempt(
                1,
                0,
                json!({
                    "failure": {"class": "http", "message": "503 Service Unavailable"},
                    "explanation": "Retry 1 of 1 in 2s: the target requested 2s (Retry-After).",
                }),
            ),
            attempt(2, 0, failed),
            attempt(
                3,
                2,
                json!({"status": "SUCCESS", "response": {"status": 204}}),
            ),
        ];
        let mut table = execution_log(attempts.iter());
        table.set_width(80).force_no_tty();
        insta::assert_snapshot!(table.to_string());
    }
}
