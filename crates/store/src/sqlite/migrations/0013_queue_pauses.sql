-- Schema 13: a pause of a queue is that of its gate.
--
-- What was paused stays so. A gate that has other limits keeps them; one that is paused already keeps
-- its pause, unless that has an end.
-- Locks: the whole file for writing, for the time of this script.

INSERT INTO steadfast_document (space, id, body, revision)
SELECT
    'gate',
    'queue ' || tenant || ' ' || queue,
    json_object(
        'tenant', tenant, 'scope', 'queue', 'key', queue,
        'paused', json_object('since', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    ),
    1
FROM steadfast_paused
WHERE true
ON CONFLICT (space, id) DO UPDATE SET
    body = json_set(body, '$.paused', json(json_extract(excluded.body, '$.paused'))),
    revision = revision + 1
WHERE
    CASE
        WHEN json_valid(body)
        THEN json_extract(body, '$.paused') IS NULL OR json_extract(body, '$.paused.until') IS NOT NULL
    END;

DELETE FROM steadfast_paused;
