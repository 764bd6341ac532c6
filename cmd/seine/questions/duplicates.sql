-- Which pages have the same text? By the hash of the text, the newest version of each page.
SELECT count(*) AS copies, list(url ORDER BY url)[:10] AS urls, any_value(title) AS title
FROM (SELECT url, arg_max(content_hash, round) AS content_hash, arg_max(title, round) AS title
  FROM pages GROUP BY url)
WHERE content_hash IS NOT NULL
GROUP BY content_hash HAVING count(*) > 1
ORDER BY copies DESC, urls LIMIT 100
