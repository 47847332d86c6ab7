-- Deletes a schedule and its ticks.
-- Parameters: 1 schedule id. Rows: tenant and template, if it was there. Locks: the rows.
WITH ticks AS (DELETE FROM steadfast.tick WHERE schedule = $1)
DELETE FROM steadfast.schedule WHERE id = $1 RETURNING tenant, template
