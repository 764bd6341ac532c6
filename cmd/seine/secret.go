package main

import (
	"fmt"
	"os"
	"strings"

	"seine/formats/objstore/s3"
)

// secretSQL makes the secret by which DuckDB's httpfs reads a bucket. id and key are
// its keys; without them it takes those of the machine.
func secretSQL(a s3.Address, id, key, session string) string {
	style := "vhost"
	if a.PathStyle {
		style = "path"
	}
	options := []string{"TYPE s3"}
	add := func(name, value string) {
		if value != "" {
			options = append(options, name+" '"+strings.ReplaceAll(value, "'", "''")+"'")
		}
	}
	if id == "" {
		options = append(options, "PROVIDER credential_chain")
	}
	add("KEY_ID", id)
	add("SECRET", key)
	add("SESSION_TOKEN", session)
	add("REGION", a.Region)
	add("ENDPOINT", a.Endpoint)
	add("URL_STYLE", style)
	options = append(options, fmt.Sprintf("USE_SSL %v", !a.Plain))
	add("SCOPE", "s3://"+a.Bucket)
	return "CREATE OR REPLACE SECRET seine (\n    " + strings.Join(options, ",\n    ") + ");\n"
}

// secretAdvice is what a script of views over a bucket begins with; nothing for a
// folder. It holds no key.
func (l *looking) secretAdvice() (string, error) {
	if l.Store.Root != "" {
		return "", nil
	}
	address, err := s3.ParseAddress(l.Store.URL, os.Getenv)
	if err != nil {
		return "", err
	}
	return "-- The files are in a bucket: INSTALL httpfs once, then, with the keys filled in,\n" +
		"LOAD httpfs;\n" + secretSQL(address, "KEY_ID", "SECRET", ""), nil
}
