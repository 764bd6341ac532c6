-- Which domains have most pages? With what is known and waits of each.
SELECT domain, sum(known)::BIGINT AS known, sum(pages)::BIGINT AS pages, sum(pending)::BIGINT AS pending,
  sum(failed)::BIGINT AS failed
FROM domains GROUP BY domain ORDER BY pages DESC, known DESC, domain LIMIT 50
