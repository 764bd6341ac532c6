-- Which links of a site are broken? Links on its pages as they are now whose target failed.
-- set domain: the site's registered domain
SELECT l.src_url, l.dst_url, l.anchor, u.reason, u.http_status, u.last_crawled
FROM links_current AS l JOIN urls AS u ON u.url = l.dst_url
WHERE l.src_domain = getvariable('domain') AND u.crawl_status = 'FAILED'
  AND u.reason NOT IN ('robots_denied', 'out_of_scope', 'rule', 'trap', 'blocked')
ORDER BY l.src_url, l.dst_url
