-- Which hosts are slow? By the time to first byte, in milliseconds.
SELECT host, count(*) AS answers, round(median(ttfb_ms))::BIGINT AS median_ms,
  round(quantile_cont(ttfb_ms, 0.95))::BIGINT AS p95_ms, max(ttfb_ms) AS max_ms
FROM fetches WHERE ttfb_ms IS NOT NULL
GROUP BY host ORDER BY median_ms DESC, host LIMIT 50
