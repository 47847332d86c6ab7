-- How the next attempts of jobs ended, where that is not known.
-- Parameters: 1 operation, 2 jobs, 3 outcomes. Rows: outcome, one for each that was not known. Locks:
-- the rows.
UPDATE steadfast.operation_job AS stored SET outcome = given.outcome, pending = 0
FROM unnest($2::uuid[], $3::text[]) AS given (job, outcome)
WHERE stored.operation = $1 AND stored.job = given.job AND stored.pending = 2
RETURNING stored.outcome
