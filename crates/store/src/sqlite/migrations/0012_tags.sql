-- Schema 12: jobs are found by their tags, and have a column for their trace.
--
-- Reads every job once, for the tags of those that have some: some seconds per million.
-- Locks: the whole file for writing, for the time of this script.

-- Jobs by each of their tags, as `name:value`; only jobs with tags pay for it.
CREATE TABLE steadfast_tag (
    tag TEXT NOT NULL,
    job BLOB NOT NULL,
    tenant TEXT NOT NULL,
    PRIMARY KEY (tag, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX steadfast_tag_tenant ON steadfast_tag (tenant, tag, job);

-- Earlier versions kept the trace among the tags, under the empty name.
INSERT INTO steadfast_tag (tag, job, tenant)
SELECT each.key || ':' || each.value, job.id, lane.tenant
FROM steadfast_job AS job
JOIN steadfast_lane AS lane ON lane.id = job.lane
JOIN json_each(CASE WHEN json_valid(job.tags) THEN job.tags ELSE '{}' END) AS each
WHERE job.tags IS NOT NULL AND each.key <> ''
ON CONFLICT DO NOTHING;

-- What only some jobs have: their trace, and what follows from options, as JSON.
ALTER TABLE steadfast_job ADD COLUMN traceparent TEXT;
ALTER TABLE steadfast_job ADD COLUMN extras TEXT;

DROP VIEW steadfast_job_row;
CREATE VIEW steadfast_job_row AS
SELECT
    seq, lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested,
    lease_until, started_at, first_started_at, finished_at, resolved_at, worker, snoozes,
    last_delay, reason, failure, note, id, policy, at_most_once, timeout, lease, created_at,
    idempotency_key, schedule, tick, tags,
    coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload,
    webhook, sublane, destination, concurrency_key, key_number, traceparent, extras
FROM steadfast_job;
