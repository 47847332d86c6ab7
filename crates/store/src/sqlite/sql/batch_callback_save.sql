-- Stores a job that a batch is to make.
-- Parameters: 1 batch, 2 callback, 3 template. Rows: none. Locks: write.
INSERT INTO steadfast_batch_callback (batch, callback, template) VALUES (?1, ?2, ?3)
