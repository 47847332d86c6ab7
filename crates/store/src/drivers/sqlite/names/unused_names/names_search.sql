-- Begins a search for unused lanes and policies, unless one began less than a day ago.
-- Parameters: 1 now, 2 a day ago. Rows: none; one change if it begins. Locks: write.
UPDATE steadfast_name_search SET at = ?1 WHERE at <= ?2 OR at > ?1
