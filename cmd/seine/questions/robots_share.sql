-- What share of the turns did robots.txt refuse? By round.
SELECT round, count(*) AS turns, count(*) FILTER (reason = 'robots_denied') AS denied,
  count(*) FILTER (reason IN ('robots_unreachable', 'robots_wait')) AS undecided,
  round(denied / turns, 4) AS share
FROM fetches WHERE kind = 'page' AND final GROUP BY round ORDER BY round
