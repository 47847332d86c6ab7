-- Which jobs have idempotency keys, and the fingerprints of their requests.
-- Parameters: arrays with one entry per key: 1 tenant, 2 key. Rows: as named. Locks: none.
SELECT held.tenant, held.idempotency_key, held.job, held.fingerprint
FROM unnest($1::text[], $2::text[]) AS asked (tenant, idempotency_key)
JOIN steadfast.idempotency AS held
    ON held.tenant = asked.tenant AND held.idempotency_key = asked.idempotency_key
