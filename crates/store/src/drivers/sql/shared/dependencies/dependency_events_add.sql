-- Jobs have to look at those that they wait for.
-- Parameters: of each row kind, job, dependant. Rows: none. Locks: the rows.
INSERT INTO steadfast_event (kind, job, dependant) VALUES /*rows*/
