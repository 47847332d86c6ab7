-- Schema 18: how gates stand is read without walking over what is dead.
--
-- While an old snapshot is held, no dead row can be removed. So nothing that a claim reads again and
-- again may be changed in place or lie behind what has ended: starts at a gate are numbered while the
-- gate is held, and a node remembers below which number nothing runs any more; how a gate stands is a
-- new row each time, the newest first.
-- Locks: an advisory lock, which the runner holds, and the tables of gates for the time of this script.
CREATE SEQUENCE steadfast.gate_turn;

-- The turn in which the attempt that runs was counted at its gates.
ALTER TABLE steadfast.job ADD COLUMN gate_turn bigint;
-- 0 if the gate was not held while it was counted, because the attempt ran before the gate was set.
ALTER TABLE steadfast.gate_running ADD COLUMN turn bigint NOT NULL DEFAULT 0;
ALTER TABLE steadfast.gate_running DROP CONSTRAINT gate_running_pkey;
ALTER TABLE steadfast.gate_running ADD CONSTRAINT gate_running_pkey PRIMARY KEY (gate, turn, job);
CREATE INDEX gate_running_late ON steadfast.gate_running (job) WHERE turn = 0;

CREATE TABLE steadfast.gate_state (
    gate bigint NOT NULL,
    turn bigint NOT NULL,
    next_start bigint NOT NULL,
    minute bigint NOT NULL,
    starts bigint NOT NULL,
    retries bigint NOT NULL,
    PRIMARY KEY (gate, turn)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
INSERT INTO steadfast.gate_state (gate, turn, next_start, minute, starts, retries)
SELECT number, 0, next_start, minute, starts, retries FROM steadfast.gate
WHERE next_start > 0 OR minute > 0;

-- About when it was last used; the rest of the row is in `gate_state` now.
ALTER TABLE steadfast.gate ADD COLUMN used_at bigint NOT NULL DEFAULT 0;
