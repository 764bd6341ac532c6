-- Why was a URL not fetched? Every decision about it, newest first.
-- set url: the URL, as `seine normalize` prints it
SELECT 'now' AS what, NULL::BIGINT AS round, u.last_crawled AS moment, u.crawl_status AS outcome,
  concat_ws(', ', 'reason ' || u.reason, 'waits as ' || u.why || ' until ' || u.next_crawl,
    'failed ' || nullif(u.fail_count, 0) || ' times in a row', 'priority ' || u.priority) AS detail
FROM urls AS u WHERE u.url = getvariable('url')
UNION ALL
SELECT 'fetch', f.round, f.started_at, f.reason,
  concat_ws(', ', 'status ' || f.http_status, f.detail, f.rule, 'retry at ' || f.retry_at)
FROM fetches AS f WHERE f.url = getvariable('url') AND f.kind = 'page'
UNION ALL
SELECT 'list', l.round, l.due, 'listed', concat_ws(', ', l.band, 'position ' || l.position || ' in its domain')
FROM lists AS l WHERE l.url = getvariable('url')
UNION ALL
SELECT 'link', l.round, NULL, l.verdict, concat_ws(', ', 'from ' || l.src_url, 'rule ' || l.rule)
FROM links AS l WHERE l.dst_url = getvariable('url')
ORDER BY round DESC NULLS FIRST, what, moment
