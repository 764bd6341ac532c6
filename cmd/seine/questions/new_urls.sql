-- How many URLs were discovered a day? And how many of them have been fetched since.
SELECT (discovered_at AT TIME ZONE 'UTC')::DATE AS day, count(*) AS discovered,
  count(*) FILTER (last_crawled IS NOT NULL) AS tried, count(*) FILTER (html_blob_path IS NOT NULL) AS stored
FROM urls WHERE discovered_at IS NOT NULL GROUP BY day ORDER BY day
