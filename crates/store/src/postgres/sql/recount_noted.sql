-- Takes the lanes that are noted to be counted anew.
-- Parameters: none. Rows: lane, each once or more. Locks: the rows.
DELETE FROM steadfast.recount_lane RETURNING lane
