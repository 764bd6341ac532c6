-- Views over snapshot 0, for DuckDB 1.3 or newer.

-- A known URL and its state; counts of links are an estimate until rank.
CREATE OR REPLACE VIEW urls AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS UUID) AS url_id,
  CAST(NULL AS VARCHAR) AS crawl_status, CAST(NULL AS VARCHAR) AS reason,
  CAST(NULL AS INTEGER) AS http_status, CAST(NULL AS FLOAT) AS priority,
  CAST(NULL AS INTEGER) AS depth, CAST(NULL AS VARCHAR) AS seed,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS discovered_at,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS last_crawled,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS next_crawl, CAST(NULL AS VARCHAR) AS why,
  CAST(NULL AS INTEGER) AS crawl_count, CAST(NULL AS INTEGER) AS fail_count,
  CAST(NULL AS BIGINT) AS interval_ms, CAST(NULL AS INTEGER) AS visits,
  CAST(NULL AS INTEGER) AS changes, CAST(NULL AS BIGINT) AS observed_ms,
  CAST(NULL AS VARCHAR) AS etag, CAST(NULL AS VARCHAR) AS last_modified,
  CAST(NULL AS UBIGINT) AS content_hash, CAST(NULL AS UBIGINT) AS simhash,
  CAST(NULL AS VARCHAR) AS canonical_url, CAST(NULL AS VARCHAR) AS redirect_url,
  CAST(NULL AS VARCHAR) AS duplicate_of, CAST(NULL AS BIGINT) AS inlinks,
  CAST(NULL AS FLOAT) AS pagerank, CAST(NULL AS FLOAT) AS user_signal,
  CAST(NULL AS BOOLEAN) AS noindex, CAST(NULL AS VARCHAR) AS html_blob_path,
  CAST(NULL AS BIGINT) AS blob_offset, CAST(NULL AS BIGINT) AS blob_length,
  CAST(NULL AS BIGINT) AS queued, CAST(NULL AS BIGINT) AS queued_rank,
  CAST(NULL AS BIGINT) AS round
WHERE false;

-- A politeness group: the delay in force, and counts.
CREATE OR REPLACE VIEW domains AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS BIGINT) AS delay_ms, CAST(NULL AS VARCHAR) AS delay_why,
  CAST(NULL AS BIGINT) AS crawl_delay_ms,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS last_accessed,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS backoff_until,
  CAST(NULL AS INTEGER) AS backoffs, CAST(NULL AS INTEGER) AS error_count,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS next_slot, CAST(NULL AS BIGINT) AS known,
  CAST(NULL AS BIGINT) AS pending, CAST(NULL AS BIGINT) AS held,
  CAST(NULL AS BIGINT) AS pages, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS asked_day,
  CAST(NULL AS BIGINT) AS asked, CAST(NULL AS BIGINT) AS failed,
  CAST(NULL AS BIGINT) AS near_duplicates, CAST(NULL AS BIGINT) AS round
WHERE false;

-- A host: counts and latency.
CREATE OR REPLACE VIEW hosts AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS BIGINT) AS latency_ms, CAST(NULL AS BIGINT) AS fetches,
  CAST(NULL AS BIGINT) AS pages, CAST(NULL AS BIGINT) AS failed,
  CAST(NULL AS BIGINT) AS bytes, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS last_accessed,
  CAST(NULL AS BIGINT) AS round
WHERE false;

-- The robots.txt of an authority (scheme, host, port).
CREATE OR REPLACE VIEW robots AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS authority,
  CAST(NULL AS VARCHAR) AS status, CAST(NULL AS INTEGER) AS http_status,
  CAST(NULL AS VARCHAR) AS reason, CAST(NULL AS VARCHAR) AS robots_txt,
  CAST(NULL AS BIGINT) AS crawl_delay_ms,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS fetched_at,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS expires, CAST(NULL AS INTEGER) AS failures,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS first_failure,
  CAST(NULL AS VARCHAR[]) AS sitemaps, CAST(NULL AS BIGINT) AS round
WHERE false;

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
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS UUID) AS url_id,
  CAST(NULL AS FLOAT) AS priority, CAST(NULL AS INTEGER) AS depth,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS timestamp, CAST(NULL AS BIGINT) AS rank,
  CAST(NULL AS BIGINT) AS ticket, CAST(NULL AS VARCHAR) AS why,
  CAST(NULL AS VARCHAR) AS queue
WHERE false;

-- A URL that generate chose for a round.
CREATE OR REPLACE VIEW lists AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS VARCHAR) AS band,
  CAST(NULL AS FLOAT) AS priority, CAST(NULL AS INTEGER) AS depth,
  CAST(NULL AS VARCHAR) AS seed, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS due,
  CAST(NULL AS VARCHAR) AS why, CAST(NULL AS BIGINT) AS rank,
  CAST(NULL AS BIGINT) AS ticket, CAST(NULL AS INTEGER) AS position,
  CAST(NULL AS VARCHAR) AS etag, CAST(NULL AS VARCHAR) AS last_modified,
  CAST(NULL AS UBIGINT) AS content_hash, CAST(NULL AS UBIGINT) AS simhash,
  CAST(NULL AS INTEGER) AS crawl_count, CAST(NULL AS INTEGER) AS fail_count,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS last_crawled,
  CAST(NULL AS VARCHAR) AS html_blob_path, CAST(NULL AS BIGINT) AS blob_offset,
  CAST(NULL AS BIGINT) AS blob_length, CAST(NULL AS BIGINT) AS round
WHERE false;

-- A 2xx body.
CREATE OR REPLACE VIEW pages AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS UUID) AS url_id,
  CAST(NULL AS UUID) AS page_id, CAST(NULL AS BIGINT) AS round,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS crawled_at,
  CAST(NULL AS INTEGER) AS http_status, CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS headers,
  CAST(NULL AS VARCHAR) AS mime_declared, CAST(NULL AS VARCHAR) AS mime_detected,
  CAST(NULL AS VARCHAR) AS charset, CAST(NULL AS VARCHAR) AS language,
  CAST(NULL AS VARCHAR) AS title, CAST(NULL AS VARCHAR) AS text,
  CAST(NULL AS UBIGINT) AS content_hash, CAST(NULL AS VARCHAR) AS payload_digest,
  CAST(NULL AS UBIGINT) AS simhash, CAST(NULL AS BIGINT) AS bytes,
  CAST(NULL AS VARCHAR) AS truncated, CAST(NULL AS VARCHAR) AS change,
  CAST(NULL AS VARCHAR) AS prior, CAST(NULL AS VARCHAR) AS canonical_url,
  CAST(NULL AS BOOLEAN) AS noindex, CAST(NULL AS BOOLEAN) AS nofollow,
  CAST(NULL AS VARCHAR) AS etag, CAST(NULL AS VARCHAR) AS last_modified,
  CAST(NULL AS VARCHAR) AS html_blob_path, CAST(NULL AS BIGINT) AS blob_offset,
  CAST(NULL AS BIGINT) AS blob_length
WHERE false;

-- A decision or an exchange; a URL's turn in a round ends with one final row.
CREATE OR REPLACE VIEW fetches AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS BIGINT) AS round,
  CAST(NULL AS VARCHAR) AS attempt, CAST(NULL AS BOOLEAN) AS final,
  CAST(NULL AS VARCHAR) AS kind, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS started_at,
  CAST(NULL AS VARCHAR) AS reason, CAST(NULL AS VARCHAR) AS detail,
  CAST(NULL AS VARCHAR) AS rule, CAST(NULL AS INTEGER) AS http_status,
  CAST(NULL AS VARCHAR) AS change, CAST(NULL AS VARCHAR) AS redirect_url,
  CAST(NULL AS VARCHAR) AS redirect_kind, CAST(NULL AS VARCHAR) AS ip,
  CAST(NULL AS VARCHAR) AS source_ip, CAST(NULL AS VARCHAR) AS protocol,
  CAST(NULL AS INTEGER) AS dns_ms, CAST(NULL AS INTEGER) AS connect_ms,
  CAST(NULL AS INTEGER) AS ttfb_ms, CAST(NULL AS INTEGER) AS duration_ms,
  CAST(NULL AS BIGINT) AS waited_ms, CAST(NULL AS BIGINT) AS bytes,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS retry_at, CAST(NULL AS VARCHAR) AS warc_path,
  CAST(NULL AS BIGINT) AS warc_offset, CAST(NULL AS BIGINT) AS warc_length
WHERE false;

-- A link as found, with what was decided about it.
CREATE OR REPLACE VIEW links AS
SELECT CAST(NULL AS VARCHAR) AS src_domain, CAST(NULL AS VARCHAR) AS src_host,
  CAST(NULL AS VARCHAR) AS src_url, CAST(NULL AS VARCHAR) AS dst_url,
  CAST(NULL AS VARCHAR) AS dst_domain, CAST(NULL AS VARCHAR) AS href,
  CAST(NULL AS VARCHAR) AS anchor, CAST(NULL AS VARCHAR) AS rel,
  CAST(NULL AS VARCHAR) AS kind, CAST(NULL AS VARCHAR) AS verdict,
  CAST(NULL AS VARCHAR) AS rule, CAST(NULL AS BIGINT) AS round
WHERE false;

-- A seed as injected.
CREATE OR REPLACE VIEW seeds AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS VARCHAR) AS raw,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS injected_at, CAST(NULL AS FLOAT) AS priority,
  CAST(NULL AS VARCHAR) AS tag, CAST(NULL AS BIGINT) AS interval_ms,
  CAST(NULL AS INTEGER) AS depth, CAST(NULL AS VARCHAR) AS scope,
  CAST(NULL AS BOOLEAN) AS removed, CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS metadata,
  CAST(NULL AS BIGINT) AS round
WHERE false;

-- A URL given up, with its reasons.
CREATE OR REPLACE VIEW dead_letters AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS BIGINT) AS round,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS at, CAST(NULL AS VARCHAR) AS reason,
  CAST(NULL AS VARCHAR) AS detail, CAST(NULL AS INTEGER) AS http_status,
  CAST(NULL AS INTEGER) AS fail_count
WHERE false;

-- A job as it ended.
CREATE OR REPLACE VIEW rounds AS
SELECT CAST(NULL AS BIGINT) AS round, CAST(NULL AS VARCHAR) AS kind,
  CAST(NULL AS VARCHAR) AS spec, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS submitted_at,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS ended_at, CAST(NULL AS VARCHAR) AS outcome,
  CAST(NULL AS MAP(VARCHAR, BIGINT)) AS counts
WHERE false;

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
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS UUID) AS url_id,
  CAST(NULL AS UUID) AS page_id, CAST(NULL AS BIGINT) AS round,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS crawled_at,
  CAST(NULL AS INTEGER) AS http_status, CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS headers,
  CAST(NULL AS VARCHAR) AS mime_declared, CAST(NULL AS VARCHAR) AS mime_detected,
  CAST(NULL AS VARCHAR) AS charset, CAST(NULL AS VARCHAR) AS language,
  CAST(NULL AS VARCHAR) AS title, CAST(NULL AS VARCHAR) AS text,
  CAST(NULL AS UBIGINT) AS content_hash, CAST(NULL AS VARCHAR) AS payload_digest,
  CAST(NULL AS UBIGINT) AS simhash, CAST(NULL AS BIGINT) AS bytes,
  CAST(NULL AS VARCHAR) AS truncated, CAST(NULL AS VARCHAR) AS change,
  CAST(NULL AS VARCHAR) AS prior, CAST(NULL AS VARCHAR) AS canonical_url,
  CAST(NULL AS BOOLEAN) AS noindex, CAST(NULL AS BOOLEAN) AS nofollow,
  CAST(NULL AS VARCHAR) AS etag, CAST(NULL AS VARCHAR) AS last_modified,
  CAST(NULL AS VARCHAR) AS html_blob_path, CAST(NULL AS BIGINT) AS blob_offset,
  CAST(NULL AS BIGINT) AS blob_length
WHERE false;

-- Fetches in the sealed chunks of the running round.
CREATE OR REPLACE VIEW open_fetches AS
SELECT CAST(NULL AS VARCHAR) AS domain, CAST(NULL AS VARCHAR) AS host,
  CAST(NULL AS VARCHAR) AS url, CAST(NULL AS BIGINT) AS round,
  CAST(NULL AS VARCHAR) AS attempt, CAST(NULL AS BOOLEAN) AS final,
  CAST(NULL AS VARCHAR) AS kind, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS started_at,
  CAST(NULL AS VARCHAR) AS reason, CAST(NULL AS VARCHAR) AS detail,
  CAST(NULL AS VARCHAR) AS rule, CAST(NULL AS INTEGER) AS http_status,
  CAST(NULL AS VARCHAR) AS change, CAST(NULL AS VARCHAR) AS redirect_url,
  CAST(NULL AS VARCHAR) AS redirect_kind, CAST(NULL AS VARCHAR) AS ip,
  CAST(NULL AS VARCHAR) AS source_ip, CAST(NULL AS VARCHAR) AS protocol,
  CAST(NULL AS INTEGER) AS dns_ms, CAST(NULL AS INTEGER) AS connect_ms,
  CAST(NULL AS INTEGER) AS ttfb_ms, CAST(NULL AS INTEGER) AS duration_ms,
  CAST(NULL AS BIGINT) AS waited_ms, CAST(NULL AS BIGINT) AS bytes,
  CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS retry_at, CAST(NULL AS VARCHAR) AS warc_path,
  CAST(NULL AS BIGINT) AS warc_offset, CAST(NULL AS BIGINT) AS warc_length
WHERE false;

-- Links in the sealed chunks of the running round.
CREATE OR REPLACE VIEW open_links AS
SELECT CAST(NULL AS VARCHAR) AS src_domain, CAST(NULL AS VARCHAR) AS src_host,
  CAST(NULL AS VARCHAR) AS src_url, CAST(NULL AS VARCHAR) AS dst_url,
  CAST(NULL AS VARCHAR) AS dst_domain, CAST(NULL AS VARCHAR) AS href,
  CAST(NULL AS VARCHAR) AS anchor, CAST(NULL AS VARCHAR) AS rel,
  CAST(NULL AS VARCHAR) AS kind, CAST(NULL AS VARCHAR) AS verdict,
  CAST(NULL AS VARCHAR) AS rule, CAST(NULL AS BIGINT) AS round
WHERE false;

-- An object of the snapshot that holds rows, or a WARC file.
CREATE OR REPLACE VIEW files AS
SELECT CAST(NULL AS VARCHAR) AS table_name, CAST(NULL AS VARCHAR) AS run,
  CAST(NULL AS BIGINT) AS round, CAST(NULL AS VARCHAR) AS key,
  CAST(NULL AS VARCHAR) AS path, CAST(NULL AS BIGINT) AS rows,
  CAST(NULL AS BIGINT) AS bytes, CAST(NULL AS BIGINT) AS deltas,
  CAST(NULL AS BIGINT) AS consumed
WHERE false;
