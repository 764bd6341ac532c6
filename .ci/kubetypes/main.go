// Command kubetypes reads Kubernetes manifests strictly into the types of the API: a
// field that does not exist, or has another type, is an error. It is a module of its own,
// because nothing else here needs those types.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// typed is a fresh value of the type that a manifest says it is.
func typed(apiVersion, kind string) (any, error) {
	switch apiVersion + " " + kind {
	case "v1 Namespace":
		return &corev1.Namespace{}, nil
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}, nil
	case "v1 Secret":
		return &corev1.Secret{}, nil
	case "v1 Service":
		return &corev1.Service{}, nil
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}, nil
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}, nil
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}, nil
	}
	return nil, fmt.Errorf("no type is known for %s %s", apiVersion, kind)
}

func check(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(b)))
	defer documents.Close()
	buf := make([]byte, len(b)+1)
	for n := 0; ; n++ {
		size, err := documents.Read(buf)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var head struct{ APIVersion, Kind string }
		if err := strict.Unmarshal(buf[:size], &head); err != nil {
			return n, err
		}
		v, err := typed(head.APIVersion, head.Kind)
		if err == nil {
			err = strict.UnmarshalStrict(buf[:size], v)
		}
		if err != nil {
			return n, fmt.Errorf("document %d: %w", n+1, err)
		}
	}
}

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		n, err := check(path)
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			continue
		}
		fmt.Printf("%s: %d objects are as the API has them\n", path, n)
	}
	if failed || len(os.Args) < 2 {
		os.Exit(1)
	}
}
