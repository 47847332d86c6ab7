-- Forgets keys again whose jobs were not stored after all.
-- Parameters: arrays with one entry per key: 1 tenant, 2 key, 3 job. Rows: none.
-- Locks: the rows.
DELETE FROM steadfast.idempotency AS held
USING unnest($1::text[], $2::text[], $3::uuid[]) AS asked (tenant, idempotency_key, job)
WHERE
    held.tenant = asked.tenant AND held.idempotency_key = asked.idempotency_key
    AND held.job = asked.job
