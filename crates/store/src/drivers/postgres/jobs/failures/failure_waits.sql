-- Whether anything was counted that is not added to its group yet.
-- Parameters: none. Rows: one. Locks: none.
SELECT EXISTS (SELECT FROM steadfast.failure_change) AS waits
