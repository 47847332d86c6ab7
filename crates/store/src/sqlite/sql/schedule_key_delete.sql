-- Deletes the idempotency key by which a schedule was created, if its template can be read.
-- Parameters: 1 schedule id. Rows: none. Locks: write.
DELETE FROM steadfast_idempotency
WHERE
    (tenant, idempotency_key) = (
        SELECT tenant, CASE WHEN json_valid(template) THEN template ->> '$.idempotencyKey' END
        FROM steadfast_schedule
        WHERE id = ?1
    )
    AND job = ?1
