-- Which redirects lead on to redirects? Chains of two hops and more, with their end.
WITH RECURSIVE hop AS (
  SELECT url, arg_max(redirect_url, round) AS target FROM fetches
  WHERE kind = 'page' AND final AND redirect_url IS NOT NULL GROUP BY url
), chain AS (
  SELECT url AS start, target, [url, target] AS path, 1 AS hops FROM hop
  WHERE url NOT IN (SELECT target FROM hop)
  UNION ALL
  SELECT c.start, h.target, list_append(c.path, h.target), c.hops + 1
  FROM chain AS c JOIN hop AS h ON h.url = c.target
  WHERE c.hops < 20 AND NOT list_contains(c.path, h.target)
)
SELECT start, max(hops) AS hops, arg_max(target, hops) AS ends_at,
  array_to_string(arg_max(path, hops), ' -> ') AS path
FROM chain GROUP BY start HAVING max(hops) > 1 ORDER BY hops DESC, start
