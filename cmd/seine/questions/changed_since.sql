-- What changed in the last round? Pages that are new or whose text is another.
-- set round: the round (default the newest with pages)
SELECT p.change, p.url, p.title, p.bytes, p.crawled_at
FROM pages AS p
WHERE p.change IN ('new', 'changed')
  AND p.round = coalesce(TRY_CAST(getvariable('round') AS BIGINT), (SELECT max(round) FROM pages))
ORDER BY p.change, p.url
