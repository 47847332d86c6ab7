-- The state of a gate that another store had.
-- Parameters: 1 number, 2 next start, 3 minute, 4 starts, 5 retries, 6 usage. Rows: none. Locks: the row.
INSERT INTO steadfast_gate_state (gate, turn, next_start, minute, starts, retries, usage)
VALUES (?1, nextval('steadfast_gate_turn'), ?2, ?3, ?4, ?5, ?6)
