-- Failure groups by their keys.
-- Parameters: of each row tenant, fingerprint. Rows: tenant, fingerprint, count, body. Locks: none.
SELECT failure.tenant, failure.fingerprint, failure.count, failure.body
FROM (VALUES /*rows*/) AS wanted
INNER JOIN steadfast_failure AS failure
    ON failure.tenant = wanted.column1 AND failure.fingerprint = wanted.column2
