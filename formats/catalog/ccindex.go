package catalog

// ccIndexSQL is Common Crawl's columnar index (cc-index-table, its flat schema,
// https://github.com/commoncrawl/cc-index-table) over our fetches. Columns that
// theirs has since 2026-30 and that no table of ours can give (warc_record_id)
// are left out. What differs in meaning, not in type: the suffixes and domains
// are those of the crawl's Public Suffix List with its private section;
// content_languages is the language that the page names, brought to ISO 639-3
// where its 639-1 code is a common one; crawl is the round.
const ccIndexSQL = `SELECT
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
  WHERE f.warc_path IS NOT NULL AND f.http_status IS NOT NULL)`
