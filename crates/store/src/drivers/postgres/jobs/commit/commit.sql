-- Writes transitions whose guard holds, with their attempt records and counts.
--
-- A job that has succeeded or was cancelled leaves the hot ones: its row moves to the partition of its day.
-- Dead letters stay, and so does a job that others wait for or look for: its end must fire a trigger, or it
-- may be locked by a transaction of a user, which a row that moves would fail. They are moved later.
--
-- The state is compared in a way that no index answers: the index of running jobs is full of
-- dead entries, the primary key is not.
--
-- The version of the endpoints is that of the statement's beginning: what is decided about an
-- endpoint after that happened at the same time.
--
-- Parameters: 1 now or null, 2 the transitions. Those without a record have no status in it.
-- 3 the version of the endpoints that they were decided with, or null if none matters.
-- Rows: job id of those that were written, and whether it is a run. Locks: the rows, in the
-- order given.
WITH clock AS MATERIALIZED (SELECT steadfast.time($1) AS now),
open_days AS MATERIALIZED (SELECT min(day) AS first, max(day) AS last FROM steadfast.job_day WHERE is_open),
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
        failure_group = CASE WHEN new.failure IS NOT NULL THEN coalesce(new.failure_group, job.failure_group) END,
        note = new.note,
        day = CASE
            WHEN new.state NOT IN (2, 4) OR job.links IS NOT NULL OR job.unique_number IS NOT NULL THEN -1
            WHEN new.day BETWEEN (SELECT first FROM open_days) AND (SELECT last FROM open_days) THEN new.day
            ELSE 0
        END
    FROM unnest($2::steadfast.transition[]) AS new
    WHERE
        job.id = new.id AND job.day = -1 AND job.fence = new.held AND job.state + 0 = 1
        AND (new.cancel_known OR NOT job.cancel_requested)
        AND (
            $3::bigint IS NULL
            OR $3 = coalesce((SELECT version FROM steadfast.record_version WHERE kind = 'endpoint'), 0)
        )
        AND (NOT new.must_have_expired OR job.lease_until <= (SELECT now FROM clock))
    RETURNING
        job.id, job.lane, job.flow_key, job.priority, job.gates, job.gate_turn,
        job.schedule, job.links,
        job.state, job.resolved_at,
        CASE WHEN job.state = 0 THEN job.run_at / 60000000 END AS due_minute,
        job.state = 0 AND job.attempt > job.attempts_before AS is_retry,
        new.record_fence, new.record_attempt, new.record_attempts_before, new.record_status,
        new.record_started_at, new.record_finished_at, new.record_worker, new.record_failure, new.record_output,
        new.record_note, new.record_decision,
        new.attempts, new.successes, new.failures, new.retries, new.successful_retries,
        new.exhausted, new.day
),
recorded AS (
    INSERT INTO steadfast.attempt (
        job, fence, attempt, attempts_before, status, started_at, finished_at, worker, failure,
        output, note, decision, schedule, day
    )
    SELECT
        id, record_fence, record_attempt, record_attempts_before, record_status,
        record_started_at, record_finished_at, record_worker, record_failure, record_output, record_note, record_decision, schedule,
        CASE
            WHEN day BETWEEN (SELECT first FROM open_days) AND (SELECT last FROM open_days) THEN day
            ELSE 0
        END
    FROM written
    WHERE record_status IS NOT NULL
),
counted AS (
    INSERT INTO steadfast.count_change (
        lane, minute, due_minute, running, waiting, retrying, succeeded, failed, cancelled, dead_letters, attempts,
        successes, failures, retries, successful_retries, exhausted
    )
    SELECT
        lane, record_finished_at / 60000000, due_minute, - count(*),
        count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE is_retry),
        count(*) FILTER (WHERE state = 2),
        count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 4),
        count(*) FILTER (WHERE state = 3 AND resolved_at IS NULL),
        sum(attempts), sum(successes), sum(failures), sum(retries), sum(successful_retries),
        sum(exhausted)
    FROM written
    GROUP BY lane, record_finished_at / 60000000, due_minute
),
gate_entry AS MATERIALIZED (
    SELECT passed.gate, place.turn, written.id
    FROM written
    CROSS JOIN LATERAL unnest(written.gates) AS passed (gate)
    CROSS JOIN LATERAL (VALUES (0::bigint), (written.gate_turn)) AS place (turn)
    WHERE written.gates IS NOT NULL
),
released AS (
    -- A first column that is compared with an array has no other plan than one seek for each, whatever
    -- the planner thinks of the table.
    DELETE FROM steadfast.gate_running
    USING gate_entry
    WHERE
        gate_running.gate = ANY(ARRAY[gate_entry.gate]) AND gate_running.turn = gate_entry.turn
        AND gate_running.job = gate_entry.id
)
SELECT
    id, lane, flow_key, priority, gates IS NOT NULL AS is_gated, schedule IS NOT NULL AS is_run,
    links IS NOT NULL AS has_links
FROM written
