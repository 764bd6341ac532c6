-- Views over snapshot 4, for DuckDB 1.3 or newer.

-- A known URL and its state; counts of links are an estimate until rank.
CREATE OR REPLACE VIEW urls AS
SELECT u.domain, u.host, u.url, CAST(md5(u.url) AS UUID) AS url_id,
  CASE WHEN d.listed THEN 'IN_PROGRESS' ELSE u.crawl_status END AS crawl_status,
  u.reason, u.http_status,
  CASE WHEN d.queue IS NULL THEN u.priority ELSE d.queue.priority END AS priority,
  least(u.depth, d.depth) AS depth, u.seed, u.discovered_at, u.last_crawled,
  u.next_crawl, u.why, coalesce(u.crawl_count, 0)::INTEGER AS crawl_count,
  coalesce(u.fail_count, 0)::INTEGER AS fail_count, u.interval_ms,
  coalesce(u.visits, 0)::INTEGER AS visits, coalesce(u.changes, 0)::INTEGER AS changes,
  u.observed_ms, u.etag, u.last_modified, u.content_hash, u.simhash, u.canonical_url,
  u.redirect_url, u.duplicate_of,
  coalesce(u.inlinks, 0) + coalesce(d.inlinks, 0) AS inlinks, u.pagerank, u.user_signal,
  u.noindex, u.html_blob_path, u.blob_offset, u.blob_length,
  CASE WHEN d.queue IS NULL THEN u.queued ELSE d.queue.queued END AS queued,
  CASE WHEN d.queue IS NULL THEN u.queued_rank ELSE d.queue.queued_rank END AS queued_rank,
  u.round
FROM (SELECT * FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/urls.parquet',
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/urls.parquet'], union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false)
  UNION ALL BY NAME SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls.parquet'], union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false)
  WHERE NOT delta) AS r
  ANTI JOIN (SELECT n.file_name, l.row AS row_number FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/urls-superseded.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls-superseded.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls-superseded.parquet'], union_by_name = true, hive_partitioning = false) AS l
    JOIN (VALUES
      ('rounds/00000001/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/urls.parquet'),
      ('rounds/00000002/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/urls.parquet'),
      ('rounds/00000003/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls.parquet'),
      ('rounds/00000004/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls.parquet')) AS n(object, file_name) USING (object)) AS s
    ON s.file_name = r.filename AND s.row_number = r.file_row_number) AS u
LEFT JOIN (SELECT url, sum(inlinks)::BIGINT AS inlinks, min(depth)::INTEGER AS depth,
    arg_max(struct_pack(queued := queued::BIGINT, queued_rank := queued_rank::BIGINT, priority := priority::FLOAT), seq)
      FILTER (WHERE queued IS NOT NULL) AS queue, bool_or(listed) AS listed
  FROM (SELECT url, inlinks, depth, queued, queued_rank, priority, 3 AS seq, false AS listed
  FROM read_parquet([
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls.parquet'], filename = true, file_row_number = true, hive_partitioning = false) AS r
  ANTI JOIN (SELECT n.file_name, l.row AS row_number FROM read_parquet([
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls-superseded.parquet'], hive_partitioning = false) AS l
    JOIN (VALUES
      ('rounds/00000003/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls.parquet')) AS n(object, file_name) USING (object)) AS s
    ON s.file_name = r.filename AND s.row_number = r.file_row_number
  WHERE delta
  UNION ALL SELECT url, inlinks, depth, queued, queued_rank, priority, 4 AS seq, false AS listed
  FROM read_parquet([
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls.parquet'], hive_partitioning = false)
  WHERE delta
  UNION ALL SELECT url, NULL AS inlinks, NULL AS depth, NULL AS queued, NULL AS queued_rank, NULL AS priority,
    NULL AS seq, true AS listed
  FROM read_parquet([
    '/data/it''s/rounds/00000005/generate/0000/a000001-0001/lists.parquet'], hive_partitioning = false))
  GROUP BY url) AS d ON d.url = u.url;

-- A politeness group: the delay in force, and counts.
CREATE OR REPLACE VIEW domains AS
SELECT t.domain, t.host, t.delay_ms, t.delay_why, t.crawl_delay_ms, t.last_accessed,
  t.backoff_until, coalesce(t.backoffs, 0)::INTEGER AS backoffs,
  coalesce(t.error_count, 0)::INTEGER AS error_count, t.next_slot, t.known, t.pending,
  coalesce(t.held, 0)::BIGINT AS held, t.pages, t.asked_day,
  coalesce(t.asked, 0)::BIGINT AS asked, t.failed,
  coalesce(t.near_duplicates, 0)::BIGINT AS near_duplicates, t.round
FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/domains.parquet',
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/domains.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/domains.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/domains.parquet'], union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false)) AS r
  ANTI JOIN (SELECT n.file_name, l.row AS row_number FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/domains-superseded.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/domains-superseded.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/domains-superseded.parquet'], union_by_name = true, hive_partitioning = false) AS l
    JOIN (VALUES
      ('rounds/00000001/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/domains.parquet'),
      ('rounds/00000002/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/domains.parquet'),
      ('rounds/00000003/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/domains.parquet'),
      ('rounds/00000004/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/domains.parquet')) AS n(object, file_name) USING (object)) AS s
    ON s.file_name = r.filename AND s.row_number = r.file_row_number)
  UNION ALL BY NAME SELECT CAST(NULL AS BIGINT) AS held, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS asked_day,
  CAST(NULL AS BIGINT) AS asked
WHERE false) AS t;

-- A host: counts and latency.
CREATE OR REPLACE VIEW hosts AS
SELECT t.domain, t.host, t.latency_ms, t.fetches, t.pages, t.failed, t.bytes,
  t.last_accessed, t.round
FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/hosts.parquet'], hive_partitioning = false)) AS t;

-- The robots.txt of an authority (scheme, host, port).
CREATE OR REPLACE VIEW robots AS
SELECT t.domain, t.authority, t.status, t.http_status, t.reason, t.robots_txt,
  t.crawl_delay_ms, t.fetched_at, t.expires,
  coalesce(t.failures, 0)::INTEGER AS failures, t.first_failure, t.sitemaps, t.round
FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/robots.parquet'], hive_partitioning = false)) AS t;

-- A registered domain with the robots.txt of its main host.
CREATE OR REPLACE VIEW domain AS
SELECT d.domain, r.robots_txt, max(d.crawl_delay_ms) / 1000.0 AS crawl_delay,
  max(d.last_accessed) AS last_accessed, sum(d.error_count)::BIGINT AS error_count
FROM domains AS d
LEFT JOIN (SELECT domain, arg_min(robots_txt,
    CASE regexp_replace(authority, '^https?://', '') WHEN domain THEN '0' WHEN 'www.' || domain THEN '1'
      ELSE '2' END || if(starts_with(authority, 'https'), '0', '1') || authority) AS robots_txt
  FROM robots GROUP BY domain) AS r ON r.domain = d.domain
GROUP BY d.domain, r.robots_txt;

-- A URL that waits, with the place in the order: live rows only.
CREATE OR REPLACE VIEW frontier AS
SELECT f.domain, f.host, f.url, CAST(md5(f.url) AS UUID) AS url_id, f.priority, f.depth,
  f.timestamp, f.rank, f.ticket, f.why, f.queue
FROM (SELECT r.*, 'waiting' AS queue FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/waiting.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/waiting.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/waiting.parquet'], union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false) AS r
  LEFT JOIN (VALUES
    ('/data/it''s/rounds/00000002/reduce/0000/a000001-0001/waiting.parquet', 200, 1),
    ('/data/it''s/rounds/00000002/reduce/0000/a000001-0001/waiting.parquet', 215, 2),
    ('/data/it''s/rounds/00000002/reduce/0000/a000001-0001/waiting.parquet', 418, 3),
    ('/data/it''s/rounds/00000003/reduce/0000/a000001-0001/waiting.parquet', 200, 5)) AS k(file_name, partition, row_number)
    ON k.file_name = r.filename AND k.partition = r.partition
  WHERE k.row_number IS NULL OR r.file_row_number >= k.row_number
  UNION ALL SELECT r.*, 'ready' AS queue FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/ready.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/ready.parquet'], union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false) AS r
  LEFT JOIN (VALUES
    ('/data/it''s/rounds/00000002/reduce/0000/a000001-0001/ready.parquet', 200, 4),
    ('/data/it''s/rounds/00000002/reduce/0000/a000001-0001/ready.parquet', 418, 5),
    ('/data/it''s/rounds/00000003/reduce/0000/a000001-0001/ready.parquet', 200, 1),
    ('/data/it''s/rounds/00000003/reduce/0000/a000001-0001/ready.parquet', 342, 2)) AS k(file_name, partition, row_number)
    ON k.file_name = r.filename AND k.partition = r.partition
  WHERE k.row_number IS NULL OR r.file_row_number >= k.row_number) AS f
SEMI JOIN urls AS u ON u.url = f.url AND u.queued = f.ticket;

-- A URL that generate chose for a round.
CREATE OR REPLACE VIEW lists AS
SELECT t.domain, t.host, t.url, t.band, t.priority, t.depth, t.seed, t.due, t.why,
  t.rank, t.ticket, t.position, t.etag, t.last_modified, t.content_hash, t.simhash,
  coalesce(t.crawl_count, 0)::INTEGER AS crawl_count,
  coalesce(t.fail_count, 0)::INTEGER AS fail_count, t.last_crawled, t.html_blob_path,
  t.blob_offset, t.blob_length, t.round
FROM read_parquet([
    '/data/it''s/rounds/00000002/generate/0000/a000001-0001/lists.parquet',
    '/data/it''s/rounds/00000003/generate/0000/a000001-0001/lists.parquet',
    '/data/it''s/rounds/00000004/generate/0000/a000001-0001/lists.parquet'], union_by_name = true, hive_partitioning = false) AS t;

-- A 2xx body.
CREATE OR REPLACE VIEW pages AS
SELECT t.domain, t.host, t.url, t.url_id, t.page_id, t.round, t.crawled_at,
  t.http_status, t.headers, t.mime_declared, t.mime_detected, t.charset, t.language,
  t.title, t.text, t.content_hash, t.payload_digest, t.simhash, t.bytes, t.truncated,
  t.change, t.prior, t.canonical_url, t.noindex, t.nofollow, t.etag, t.last_modified,
  t.html_blob_path, t.blob_offset, t.blob_length
FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/pages.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/pages.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/pages.parquet'], union_by_name = true, hive_partitioning = false) AS t;

-- A decision or an exchange; a URL's turn in a round ends with one final row.
CREATE OR REPLACE VIEW fetches AS
SELECT t.domain, t.host, t.url, t.round, t.attempt, t.final, t.kind, t.started_at,
  t.reason, t.detail, t.rule, t.http_status, t.change, t.redirect_url, t.redirect_kind,
  t.ip, t.source_ip, t.protocol, t.dns_ms, t.connect_ms, t.ttfb_ms, t.duration_ms,
  t.waited_ms, t.bytes, t.retry_at, t.warc_path, t.warc_offset, t.warc_length
FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/fetches.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/fetches.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/fetches.parquet'], union_by_name = true, hive_partitioning = false)
  UNION ALL BY NAME SELECT CAST(NULL AS VARCHAR) AS source_ip
WHERE false) AS t;

-- A link as found, with what was decided about it.
CREATE OR REPLACE VIEW links AS
SELECT t.src_domain, t.src_host, t.src_url, t.dst_url, t.dst_domain, t.href, t.anchor,
  t.rel, t.kind, t.verdict, t.rule, t.round
FROM read_parquet([
    '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/links.parquet',
    '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/links.parquet',
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/links.parquet'], union_by_name = true, hive_partitioning = false) AS t;

-- A seed as injected.
CREATE OR REPLACE VIEW seeds AS
SELECT t.domain, t.host, t.url, t.raw, t.injected_at, t.priority, t.tag, t.interval_ms,
  t.depth, t.scope, t.removed, t.metadata, t.round
FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000001/inject/0000/a000001-0001/seeds.parquet'], hive_partitioning = false)
  UNION ALL BY NAME SELECT CAST(NULL AS BIGINT) AS interval_ms, CAST(NULL AS INTEGER) AS depth,
  CAST(NULL AS VARCHAR) AS scope, CAST(NULL AS BOOLEAN) AS removed
WHERE false) AS t;

-- A URL given up, with its reasons.
CREATE OR REPLACE VIEW dead_letters AS
SELECT t.domain, t.host, t.url, t.round, t.at, t.reason, t.detail, t.http_status,
  coalesce(t.fail_count, 0)::INTEGER AS fail_count
FROM read_parquet([
    '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/dead_letters.parquet'], hive_partitioning = false) AS t;

-- A job as it ended.
CREATE OR REPLACE VIEW rounds AS
SELECT t.round, t.kind, t.spec, t.submitted_at, t.ended_at, t.outcome, t.counts
FROM read_parquet([
    '/data/it''s/rounds/00000001/publish/0000/a000001-0001/rounds.parquet',
    '/data/it''s/rounds/00000002/publish/0000/a000001-0001/rounds.parquet',
    '/data/it''s/rounds/00000003/publish/0000/a000001-0001/rounds.parquet',
    '/data/it''s/rounds/00000004/publish/0000/a000001-0001/rounds.parquet'], union_by_name = true, hive_partitioning = false) AS t;

-- The links of each page's newest version.
CREATE OR REPLACE VIEW links_current AS
SELECT l.*
FROM links AS l
SEMI JOIN (SELECT url, max(round) AS round
  FROM (SELECT url, round FROM pages UNION ALL SELECT src_url, round FROM links)
  GROUP BY url) AS v ON v.url = l.src_url AND v.round = l.round;

-- Each archived response, with the columns and types of Common Crawl's index.
CREATE OR REPLACE VIEW cc_index AS
SELECT
  CASE WHEN is_address THEN host ELSE 
    array_to_string(list_reverse(string_split(regexp_replace(host, '^www\d*\.', ''), '.')), ',') END
    || if(port IS NULL, '', ':' || port) || ')' || lower(if(path = '', '/', path))
    || CASE WHEN query IS NULL THEN ''
       ELSE '?' || array_to_string(list_sort(string_split(lower(query), '&')), '&') END AS url_surtkey,
  url,
  host AS url_host_name,
  parts[1] AS url_host_tld,
  parts[2] AS url_host_2nd_last_part,
  parts[3] AS url_host_3rd_last_part,
  parts[4] AS url_host_4th_last_part,
  parts[5] AS url_host_5th_last_part,
  suffix AS url_host_registry_suffix,
  registered AS url_host_registered_domain,
  suffix AS url_host_private_suffix,
  registered AS url_host_private_domain,
  array_to_string(parts, '.') AS url_host_name_reversed,
  regexp_extract(url, '^([a-z]+):', 1) AS url_protocol,
  port AS url_port,
  path AS url_path,
  query AS url_query,
  started_at AS fetch_time,
  http_status::SMALLINT AS fetch_status,
  redirect_url AS fetch_redirect,
  regexp_replace(payload_digest, '^sha1:', '') AS content_digest,
  mime_declared AS content_mime_type,
  mime_detected AS content_mime_detected,
  charset AS content_charset,
  CASE split_part(lower(language), '-', 1)
    WHEN 'ar' THEN 'ara' WHEN 'bg' THEN 'bul' WHEN 'cs' THEN 'ces' WHEN 'da' THEN 'dan' WHEN 'de' THEN 'deu'
    WHEN 'el' THEN 'ell' WHEN 'en' THEN 'eng' WHEN 'es' THEN 'spa' WHEN 'fa' THEN 'fas' WHEN 'fi' THEN 'fin'
    WHEN 'fr' THEN 'fra' WHEN 'he' THEN 'heb' WHEN 'hi' THEN 'hin' WHEN 'hu' THEN 'hun' WHEN 'id' THEN 'ind'
    WHEN 'it' THEN 'ita' WHEN 'ja' THEN 'jpn' WHEN 'ko' THEN 'kor' WHEN 'nl' THEN 'nld' WHEN 'no' THEN 'nor'
    WHEN 'pl' THEN 'pol' WHEN 'pt' THEN 'por' WHEN 'ro' THEN 'ron' WHEN 'ru' THEN 'rus' WHEN 'sk' THEN 'slk'
    WHEN 'sv' THEN 'swe' WHEN 'th' THEN 'tha' WHEN 'tr' THEN 'tur' WHEN 'uk' THEN 'ukr' WHEN 'vi' THEN 'vie'
    WHEN 'zh' THEN 'zho' ELSE split_part(lower(language), '-', 1) END AS content_languages,
  truncated AS content_truncated,
  warc_path AS warc_filename,
  coalesce(warc_offset, 0)::INTEGER AS warc_record_offset,
  warc_length::INTEGER AS warc_record_length,
  array_to_string(string_split(warc_path, '/')[2:4], '.') AS warc_segment,
  'seine-' || lpad(round::VARCHAR, 8, '0') AS crawl,
  CASE WHEN kind = 'robots' THEN 'robotstxt' WHEN http_status BETWEEN 200 AND 299 THEN 'warc'
    ELSE 'crawldiagnostics' END AS subset
FROM (SELECT f.*, p.payload_digest, p.mime_declared, p.mime_detected, p.charset, p.language, p.truncated,
    starts_with(f.host, '[') OR regexp_full_match(f.host, '\d+\.\d+\.\d+\.\d+') AS is_address,
    if(is_address, NULL, list_reverse(string_split(f.host, '.'))) AS parts,
    if(is_address, NULL, f.domain) AS registered,
    if(is_address OR NOT contains(f.domain, '.'), NULL, regexp_replace(f.domain, '^[^.]*\.', '')) AS suffix,
    TRY_CAST(regexp_extract(f.url, '^[a-z]+://(\[[^\]]*\]|[^/:?#]*):(\d+)', 2) AS INTEGER) AS port,
    regexp_extract(f.url, '^[a-z]+://[^/?#]*([^?#]*)', 1) AS path,
    if(contains(f.url, '?'), regexp_extract(f.url, '\?([^#]*)', 1), NULL) AS query
  FROM fetches AS f LEFT JOIN pages AS p ON p.url = f.url AND p.round = f.round AND f.kind = 'page'
  WHERE f.warc_path IS NOT NULL AND f.http_status IS NOT NULL);

-- Pages in the sealed chunks of the running round.
CREATE OR REPLACE VIEW open_pages AS
SELECT t.domain, t.host, t.url, t.url_id, t.page_id, t.round, t.crawled_at,
  t.http_status, t.headers, t.mime_declared, t.mime_detected, t.charset, t.language,
  t.title, t.text, t.content_hash, t.payload_digest, t.simhash, t.bytes, t.truncated,
  t.change, t.prior, t.canonical_url, t.noindex, t.nofollow, t.etag, t.last_modified,
  t.html_blob_path, t.blob_offset, t.blob_length
FROM read_parquet([
    '/data/it''s/rounds/00000005/reduce/0000/a000001-0001/pages.parquet'], hive_partitioning = false) AS t;

-- Fetches in the sealed chunks of the running round.
CREATE OR REPLACE VIEW open_fetches AS
SELECT t.domain, t.host, t.url, t.round, t.attempt, t.final, t.kind, t.started_at,
  t.reason, t.detail, t.rule, t.http_status, t.change, t.redirect_url, t.redirect_kind,
  t.ip, t.source_ip, t.protocol, t.dns_ms, t.connect_ms, t.ttfb_ms, t.duration_ms,
  t.waited_ms, t.bytes, t.retry_at, t.warc_path, t.warc_offset, t.warc_length
FROM (SELECT * FROM read_parquet([
    '/data/it''s/rounds/00000005/reduce/0000/a000001-0001/fetches.parquet'], hive_partitioning = false)
  UNION ALL BY NAME SELECT CAST(NULL AS VARCHAR) AS source_ip
WHERE false) AS t;

-- Links in the sealed chunks of the running round.
CREATE OR REPLACE VIEW open_links AS
SELECT t.src_domain, t.src_host, t.src_url, t.dst_url, t.dst_domain, t.href, t.anchor,
  t.rel, t.kind, t.verdict, t.rule, t.round
FROM read_parquet([
    '/data/it''s/rounds/00000005/reduce/0000/a000001-0001/links.parquet'], hive_partitioning = false) AS t;

-- An object of the snapshot that holds rows, or a WARC file.
CREATE OR REPLACE VIEW files AS
SELECT table_name::VARCHAR AS table_name, run::VARCHAR AS run, round::BIGINT AS round,
  key::VARCHAR AS key, path::VARCHAR AS path, rows::BIGINT AS rows,
  bytes::BIGINT AS bytes, deltas::BIGINT AS deltas, consumed::BIGINT AS consumed
FROM (VALUES
  ('urls', 'r00000001', 1, 'rounds/00000001/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/urls.parquet', 4, 8570, 0, 0),
  ('urls', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/urls.parquet', 10, 9690, 0, 0),
  ('urls', 'r00000003', 3, 'rounds/00000003/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/urls.parquet', 9, 9654, 2, 0),
  ('urls', 'r00000004', 4, 'rounds/00000004/reduce/0000/a000001-0001/urls.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/urls.parquet', 7, 9934, 3, 0),
  ('domains', 'r00000001', 1, 'rounds/00000001/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000001/reduce/0000/a000001-0001/domains.parquet', 4, 4390, 0, 0),
  ('domains', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/domains.parquet', 5, 4638, 0, 0),
  ('domains', 'r00000003', 3, 'rounds/00000003/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/domains.parquet', 4, 4614, 0, 0),
  ('domains', 'r00000004', 4, 'rounds/00000004/reduce/0000/a000001-0001/domains.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/domains.parquet', 4, 4599, 0, 0),
  ('hosts', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/hosts.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/hosts.parquet', 3, 2647, 0, 0),
  ('robots', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/robots.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/robots.parquet', 1, 3356, 0, 0),
  ('waiting', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/waiting.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/waiting.parquet', 4, 2851, 0, 3),
  ('ready', 'r00000002', 2, 'rounds/00000002/reduce/0000/a000001-0001/ready.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/ready.parquet', 6, 3035, 0, 5),
  ('waiting', 'r00000003', 3, 'rounds/00000003/reduce/0000/a000001-0001/waiting.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/waiting.parquet', 7, 2900, 0, 5),
  ('ready', 'r00000003', 3, 'rounds/00000003/reduce/0000/a000001-0001/ready.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/ready.parquet', 3, 2951, 0, 2),
  ('waiting', 'r00000004', 4, 'rounds/00000004/reduce/0000/a000001-0001/waiting.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/waiting.parquet', 8, 2811, 0, 0),
  ('seeds', '', 1, 'rounds/00000001/inject/0000/a000001-0001/seeds.parquet', '/data/it''s/rounds/00000001/inject/0000/a000001-0001/seeds.parquet', 4, 3276, 0, 0),
  ('rounds', '', 1, 'rounds/00000001/publish/0000/a000001-0001/rounds.parquet', '/data/it''s/rounds/00000001/publish/0000/a000001-0001/rounds.parquet', 1, 1751, 0, 0),
  ('lists', '', 2, 'rounds/00000002/generate/0000/a000001-0001/lists.parquet', '/data/it''s/rounds/00000002/generate/0000/a000001-0001/lists.parquet', 4, 5133, 0, 0),
  ('pages', '', 2, 'rounds/00000002/reduce/0000/a000001-0001/pages.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/pages.parquet', 3, 7716, 0, 0),
  ('fetches', '', 2, 'rounds/00000002/reduce/0000/a000001-0001/fetches.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/fetches.parquet', 4, 6533, 0, 0),
  ('links', '', 2, 'rounds/00000002/reduce/0000/a000001-0001/links.parquet', '/data/it''s/rounds/00000002/reduce/0000/a000001-0001/links.parquet', 6, 3291, 0, 0),
  ('rounds', '', 2, 'rounds/00000002/publish/0000/a000001-0001/rounds.parquet', '/data/it''s/rounds/00000002/publish/0000/a000001-0001/rounds.parquet', 1, 1844, 0, 0),
  ('warc', '', 2, 'rounds/00000002/fetch/0000/a000001-0001/seine-r2.warc.gz', '/data/it''s/rounds/00000002/fetch/0000/a000001-0001/seine-r2.warc.gz', 0, 2839, 0, 0),
  ('lists', '', 3, 'rounds/00000003/generate/0000/a000001-0001/lists.parquet', '/data/it''s/rounds/00000003/generate/0000/a000001-0001/lists.parquet', 5, 5197, 0, 0),
  ('pages', '', 3, 'rounds/00000003/reduce/0000/a000001-0001/pages.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/pages.parquet', 2, 7615, 0, 0),
  ('fetches', '', 3, 'rounds/00000003/reduce/0000/a000001-0001/fetches.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/fetches.parquet', 5, 7030, 0, 0),
  ('links', '', 3, 'rounds/00000003/reduce/0000/a000001-0001/links.parquet', '/data/it''s/rounds/00000003/reduce/0000/a000001-0001/links.parquet', 5, 3258, 0, 0),
  ('rounds', '', 3, 'rounds/00000003/publish/0000/a000001-0001/rounds.parquet', '/data/it''s/rounds/00000003/publish/0000/a000001-0001/rounds.parquet', 1, 1895, 0, 0),
  ('warc', '', 3, 'rounds/00000003/fetch/0000/a000001-0001/seine-r3.warc.gz', '/data/it''s/rounds/00000003/fetch/0000/a000001-0001/seine-r3.warc.gz', 0, 2059, 0, 0),
  ('lists', '', 4, 'rounds/00000004/generate/0000/a000001-0001/lists.parquet', '/data/it''s/rounds/00000004/generate/0000/a000001-0001/lists.parquet', 4, 5234, 0, 0),
  ('pages', '', 4, 'rounds/00000004/reduce/0000/a000001-0001/pages.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/pages.parquet', 2, 7576, 0, 0),
  ('fetches', '', 4, 'rounds/00000004/reduce/0000/a000001-0001/fetches.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/fetches.parquet', 4, 6772, 0, 0),
  ('links', '', 4, 'rounds/00000004/reduce/0000/a000001-0001/links.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/links.parquet', 3, 3225, 0, 0),
  ('dead_letters', '', 4, 'rounds/00000004/reduce/0000/a000001-0001/dead_letters.parquet', '/data/it''s/rounds/00000004/reduce/0000/a000001-0001/dead_letters.parquet', 1, 2005, 0, 0),
  ('rounds', '', 4, 'rounds/00000004/publish/0000/a000001-0001/rounds.parquet', '/data/it''s/rounds/00000004/publish/0000/a000001-0001/rounds.parquet', 1, 1886, 0, 0),
  ('warc', '', 4, 'rounds/00000004/fetch/0000/a000001-0001/seine-r4.warc.gz', '/data/it''s/rounds/00000004/fetch/0000/a000001-0001/seine-r4.warc.gz', 0, 2043, 0, 0)) AS f(table_name, run, round, key, path, rows, bytes, deltas, consumed);
