//! Columns by name.
//!
//! A lookup by name compares texts. Rows are many and statements few, so the positions of the
//! columns are looked up once for each result, in one pass over its names, and rows are then
//! read by position.

/// A column that a statement should have returned, and did not.
#[derive(Debug, thiserror::Error)]
#[error("the column {0} is missing")]
pub(crate) struct MissingColumn(pub &'static str);

/// Declares the columns of a result, and how they are found by their names.
macro_rules! columns {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($column:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $($vis $column: usize,)+
        }

        impl $name {
            $vis fn find<'n>(
                names: impl Iterator<Item = &'n str>,
            ) -> Result<Self, $crate::drivers::sql::columns::MissingColumn> {
                $(let mut $column = None;)+
                for (index, name) in names.enumerate() {
                    match name {
                        $(stringify!($column) => $column = Some(index),)+
                        _ => {}
                    }
                }
                Ok(Self {
                    $($column: $column.ok_or($crate::drivers::sql::columns::MissingColumn(stringify!($column)))?,)+
                })
            }
        }
    };
}
pub(crate) use columns;

columns! {
    /// The columns of a job.
    pub(crate) struct JobColumns {
        id, lane, policy, state, priority, run_at, fence, attempt, attempts_before,
        cancel_requested, lease_until, started_at, first_started_at, finished_at, resolved_at,
        worker, snoozes, last_delay, reason, failure, note, at_most_once, timeout, lease,
        created_at, idempotency_key, schedule, tick, tags, payload, webhook,
        destination, concurrency_key, traceparent, extras, start_before,
    }
}

columns! {
    /// The columns of an attempt record.
    pub(crate) struct AttemptColumns {
        job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
        output, note, decision,
    }
}

columns! {
    /// The names of a lane.
    pub(crate) struct LaneColumns { id, tenant, queue, kind }
}

columns! {
    /// The counters of a lane.
    pub(crate) struct CounterColumns {
        waiting, retrying, running, succeeded, failed, cancelled, dead_letters,
    }
}

columns! {
    /// The columns of a tally.
    pub(crate) struct TallyColumns {
        attempts, successes, failures, retries, successful_retries, exhausted,
    }
}

#[cfg(test)]
mod tests {
    columns! { struct PairColumns { first, second } }

    #[test]
    fn columns_are_found_in_any_order_among_others() {
        let columns = PairColumns::find(["other", "second", "first"].into_iter()).unwrap();
        assert_eq!((columns.first, columns.second), (2, 1));
    }

    #[test]
    fn a_missing_column_is_named() {
        let error = PairColumns::find(["first"].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "the column second is missing");
    }
}
