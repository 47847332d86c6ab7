-- Schema 21: the unfinished batches of a tenant in their order.
--
-- Nodes of the version before go on.
-- Locks: an advisory lock, which the runner holds, and the table of batches against writes.

CREATE INDEX batch_unfinished_of_tenant ON steadfast.batch (tenant, id) WHERE finished_at IS NULL;
DROP INDEX steadfast.batch_unfinished_tenant;
