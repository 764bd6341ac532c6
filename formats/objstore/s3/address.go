package s3

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"seine/formats/objstore"
)

// Address says where a bucket is.
type Address struct {
	Bucket    string
	Prefix    string // of all keys, without a slash at its end; may be empty
	Endpoint  string // host:port
	Plain     bool   // HTTP without TLS
	Region    string // empty: asked of the server
	PathStyle bool   // the bucket is in the path, not in the host name
}

const amazon = "s3.amazonaws.com"

// ParseAddress reads s3://BUCKET/PREFIX?endpoint=URL&region=NAME&path-style=BOOL. What the URL
// lacks is taken from the environment, as other tools do: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL
// or MINIO_ENDPOINT; AWS_REGION, AWS_DEFAULT_REGION or MINIO_REGION. Servers that are not Amazon's
// are addressed in path style, in us-east-1, unless it is said otherwise. An endpoint without a
// scheme means https.
func ParseAddress(address string, env func(name string) string) (Address, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Address{}, fmt.Errorf("store address: %w", err)
	}
	if u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return Address{}, fmt.Errorf("store address %s is not like s3://BUCKET/PREFIX", u.Redacted())
	}
	a := Address{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if a.Prefix != "" {
		if err := objstore.CheckKey(a.Prefix); err != nil {
			return Address{}, fmt.Errorf("store address %s: prefix: %w", address, err)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("store address %s: %w", address, err)
	}
	for name := range query {
		if name != "endpoint" && name != "region" && name != "path-style" {
			return Address{}, fmt.Errorf("store address %s: parameter %q is not one of endpoint, "+
				"region, path-style", address, name)
		}
	}
	endpoint := cmp.Or(query.Get("endpoint"), env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL"),
		env("MINIO_ENDPOINT"), amazon)
	if err := a.setEndpoint(endpoint); err != nil {
		return Address{}, fmt.Errorf("store address %s: %w", address, err)
	}
	a.Region = cmp.Or(query.Get("region"), env("AWS_REGION"), env("AWS_DEFAULT_REGION"),
		env("MINIO_REGION"))
	foreign := !strings.HasSuffix(a.Endpoint, ".amazonaws.com")
	if a.Region == "" && foreign {
		a.Region = "us-east-1"
	}
	switch style := query.Get("path-style"); style {
	case "":
		a.PathStyle = foreign
	case "true", "false":
		a.PathStyle = style == "true"
	default:
		return Address{}, fmt.Errorf("store address %s: path-style is %q, not true or false",
			address, style)
	}
	return a, nil
}

func (a *Address) setEndpoint(endpoint string) error {
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("endpoint %q is not like https://HOST:PORT", endpoint)
	}
	a.Endpoint, a.Plain = u.Host, u.Scheme == "http"
	return nil
}

// String is the address as ParseAddress reads it, complete.
func (a Address) String() string {
	scheme := "https"
	if a.Plain {
		scheme = "http"
	}
	query := url.Values{"endpoint": {scheme + "://" + a.Endpoint}}
	if a.Region != "" {
		query.Set("region", a.Region)
	}
	query.Set("path-style", fmt.Sprint(a.PathStyle))
	u := url.URL{Scheme: "s3", Host: a.Bucket, RawQuery: query.Encode()}
	if a.Prefix != "" {
		u.Path = "/" + a.Prefix
	}
	return u.String()
}

// credentialsFrom takes the keys from the environment, else from AWS's files, else from the
// machine's or the pod's role.
func credentialsFrom(env func(name string) string) *credentials.Credentials {
	id := cmp.Or(env("AWS_ACCESS_KEY_ID"), env("AWS_ACCESS_KEY"), env("MINIO_ACCESS_KEY"),
		env("MINIO_ROOT_USER"))
	secret := cmp.Or(env("AWS_SECRET_ACCESS_KEY"), env("AWS_SECRET_KEY"), env("MINIO_SECRET_KEY"),
		env("MINIO_ROOT_PASSWORD"))
	if id != "" && secret != "" {
		return credentials.NewStaticV4(id, secret, env("AWS_SESSION_TOKEN"))
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.FileAWSCredentials{
			Filename: env("AWS_SHARED_CREDENTIALS_FILE"),
			Profile:  env("AWS_PROFILE"),
		},
		&credentials.IAM{},
	})
}
