-- Lets jobs wait for others.
-- Parameters: of each row job, prerequisite, whether that has succeeded. Rows: none. Locks: the rows.
INSERT INTO steadfast_dependency (job, prerequisite, result)
VALUES /*rows*/
ON CONFLICT (job, prerequisite) DO NOTHING
