-- Schema 19: the unfinished batches of a tenant in their order.
--
-- Locks: the whole file for writing, for the time of this script.

CREATE INDEX steadfast_batch_unfinished_of_tenant ON steadfast_batch (tenant, id)
WHERE finished_at IS NULL;
DROP INDEX steadfast_batch_unfinished_tenant;
