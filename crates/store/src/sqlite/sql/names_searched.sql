-- When unused names were looked for last.
-- Parameters: none. Rows: at. Locks: read.
SELECT at FROM steadfast_name_search
