-- Writes transitions whose guard holds, with their attempt records and counts.
--
-- The state is compared in a way that no index answers: the index of running jobs is full of
-- dead entries, the primary key is not.
--
-- Parameters: 1 now or null, then arrays with one entry per transition: 2 job id, the guard
-- (3 fence, 4 whether a request to cancel is known, 5 whether the lease must have run out),
-- 6 to 22 the progress as named, 23 to 32 the record as named, null if there is none, 33 to 38
-- the tally.
-- Rows: job id of those that were written, and whether it is a run. Locks: the rows, in the
-- order given.
WITH clock AS MATERIALIZED (SELECT steadfast.time($1) AS now),
written AS (
    UPDATE steadfast.job SET
        state = new.state,
        run_at = new.run_at,
        fence = new.fence,
        attempt = new.attempt,
        attempts_before = new.attempts_before,
        cancel_requested = new.cancel_requested,
        lease_until = new.lease_until,
        started_at = new.started_at,
        first_started_at = new.first_started_at,
        finished_at = new.finished_at,
        resolved_at = new.resolved_at,
        worker = new.worker,
        snoozes = new.snoozes,
        last_delay = new.last_delay,
        reason = new.reason,
        failure = new.failure,
        note = new.note
    FROM unnest(
        $2::uuid[], $3::bigint[], $4::boolean[], $5::boolean[],
        $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::boolean[],
        $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[],
        $18::integer[], $19::bigint[], $20::text[], $21::text[], $22::text[],
        $23::bigint[], $24::bigint[], $25::text[], $26::bigint[], $27::bigint[], $28::text[],
        $29::text[], $30::text[], $31::text[], $32::text[],
        $33::integer[], $34::integer[], $35::integer[], $36::integer[], $37::integer[],
        $38::integer[]
    ) AS new (
        id, held, cancel_known, must_have_expired,
        state, run_at, fence, attempt, attempts_before, cancel_requested,
        lease_until, started_at, first_started_at, finished_at, resolved_at, worker,
        snoozes, last_delay, reason, failure, note,
        record_fence, record_attempt, record_status, record_started_at, record_finished_at,
        record_worker, record_failure, record_output, record_note, record_decision,
        attempts, successes, failures, retries, successful_retries,
        exhausted
    )
    WHERE
        job.id = new.id AND job.fence = new.held AND job.state + 0 = 1
        AND (new.cancel_known OR NOT job.cancel_requested)
        AND (NOT new.must_have_expired OR job.lease_until <= (SELECT now FROM clock))
    RETURNING
        job.id, job.lane, job.schedule, job.state, job.resolved_at,
        new.record_fence, new.record_attempt, new.record_status, new.record_started_at,
        new.record_finished_at, new.record_worker, new.record_failure, new.record_output,
        new.record_note, new.record_decision,
        new.attempts, new.successes, new.failures, new.retries, new.successful_retries,
        new.exhausted
),
kept AS (
    INSERT INTO steadfast.attempt (
        job, fence, attempt, status, started_at, finished_at, worker, failure, output, note,
        decision, schedule
    )
    SELECT
        id, record_fence, record_attempt, record_status, record_started_at, record_finished_at,
        record_worker, record_failure, record_output, record_note, record_decision, schedule
    FROM written
    WHERE record_status IS NOT NULL
),
counted AS (
    INSERT INTO steadfast.counted (
        lane, minute, running, waiting, succeeded, failed, cancelled, dead_letters, attempts,
        successes, failures, retries, successful_retries, exhausted
    )
    SELECT
        lane, record_finished_at / 60000000, - count(*),
        count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 2),
        count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 4),
        count(*) FILTER (WHERE state = 3 AND resolved_at IS NULL),
        sum(attempts), sum(successes), sum(failures), sum(retries), sum(successful_retries),
        sum(exhausted)
    FROM written
    GROUP BY lane, record_finished_at / 60000000
)
SELECT id, schedule IS NOT NULL AS is_run FROM written
