-- Lets one repair of the counters run at a time. Nothing else takes this lock but maintenance of the table.
-- Parameters: none. Rows: none. Locks: the table of the schema's version, against repairs.
LOCK TABLE steadfast.schema_version IN SHARE UPDATE EXCLUSIVE MODE
