package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"

	"seine/formats/objstore"
)

// classify gives an error of the client its class; nil stays nil.
func classify(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil { // the caller's end, not the store's
		return fmt.Errorf("%s %s: %w", op, key, cause)
	}
	class := classOf(err)
	if class == nil {
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
	return fmt.Errorf("%s %s: %w: %w", op, key, class, err)
}

func classOf(err error) error {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		return classOfConnection(err)
	}
	switch answer.Code {
	case "NoSuchBucket":
		return errNoBucket
	case "NoSuchKey":
		return objstore.ErrNotExist
	case "PreconditionFailed":
		return objstore.ErrExists
	case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded",
		"InsufficientStorage":
		return objstore.ErrFull
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "RequestTimeout", "RequestTimeTooSkewed",
		"Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
		"InternalError", "ServiceUnavailable", "ExpiredToken", "OperationAborted",
		"ConditionalRequestConflict":
		return objstore.ErrUnavailable
	}
	switch status := answer.StatusCode; {
	case status == http.StatusNotFound:
		return objstore.ErrNotExist
	case status == http.StatusPreconditionFailed:
		return objstore.ErrExists
	case status == http.StatusInsufficientStorage:
		return objstore.ErrFull
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return objstore.ErrUnavailable
	}
	return nil
}

var errNoBucket = errors.New("no such bucket: create it, or correct the store's address")

// classOfConnection is for errors that no server answered: all pass with time, but for those
// of the other side's identity.
func classOfConnection(err error) error {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid),
		errors.As(err, &verification), errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return nil
	}
	return objstore.ErrUnavailable
}

// undecided says that the server has not stored anything because another request for the same
// key was under way: 409, which is neither a win nor a loss. A server that keeps objects as files
// says so of a folder, too, while a delete beside the put takes an emptied one away.
func undecided(err error) bool {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode != http.StatusConflict {
		return false
	}
	switch answer.Code {
	case "ConditionalRequestConflict", "OperationAborted", "ExistingObjectIsDirectory":
		return true
	}
	return false
}
