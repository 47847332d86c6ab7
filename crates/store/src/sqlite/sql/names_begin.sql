-- Notes that unused names are looked for, unless that was less than a day ago.
-- Parameters: 1 now, 2 a day ago. Rows: none, if it was. Locks: write.
UPDATE steadfast_name_search SET at = ?1 WHERE at <= ?2 OR at > ?1
