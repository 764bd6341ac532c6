-- Which hosts waste the budget? Turns that gave no page, by host, with the commonest reason.
-- set rounds: how many rounds back (default 10)
SELECT host, count(*) AS turns, count(*) FILTER (reason NOT IN ('ok', 'not_modified')) AS wasted,
  round(wasted / turns, 3) AS share, mode(reason) FILTER (reason NOT IN ('ok', 'not_modified')) AS commonest,
  (sum(coalesce(waited_ms, 0) + coalesce(duration_ms, 0)) FILTER (reason NOT IN ('ok', 'not_modified')) / 1000)::BIGINT
    AS seconds
FROM fetches
WHERE kind = 'page' AND final AND round > (SELECT max(round) FROM rounds) - getvariable('rounds')::BIGINT
GROUP BY host HAVING wasted > 0
ORDER BY wasted DESC, host LIMIT 50
