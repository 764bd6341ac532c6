package deploy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// object is a part of a YAML document.
type object = map[string]any

// at follows a path of keys; nil where there is nothing.
func at(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func documents(t *testing.T, path string) []object {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []object
	decoder := yaml.NewDecoder(f)
	for {
		var doc object
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, doc)
	}
}

// resources are the manifests that the kustomization names, by kind and name.
func resources(t *testing.T) map[string]object {
	t.Helper()
	all := map[string]object{}
	kustomization := documents(t, "kubernetes/kustomization.yaml")[0]
	var named []string
	for _, file := range list(kustomization["resources"]) {
		named = append(named, text(file))
		for _, doc := range documents(t, filepath.Join("kubernetes", text(file))) {
			id := fmt.Sprintf("%s/%s", doc["kind"], at(doc, "metadata", "name"))
			if all[id] != nil || text(doc["apiVersion"]) == "" {
				t.Errorf("%s: %s is there twice, or lacks its apiVersion", file, id)
			}
			all[id] = doc
		}
	}
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if base := filepath.Base(file); base != "kustomization.yaml" && !slices.Contains(named, base) {
			t.Errorf("the kustomization lacks %s", base)
		}
	}
	return all
}

// madeByHand are secrets that no manifest should hold; README.md says how to make them.
var madeByHand = []string{"Secret/seine-tls", "Secret/seine-peers"}

// TestKubernetesReferences: what one manifest says of another holds.
func TestKubernetesReferences(t *testing.T) {
	all := resources(t)
	exists := func(kind string, name any) {
		id := fmt.Sprintf("%s/%s", kind, name)
		if all[id] == nil && !slices.Contains(madeByHand, id) {
			t.Errorf("%s is named, and nowhere defined", id)
		}
	}
	pods := map[string]object{} // labels of templates, by part
	for id, doc := range all {
		template, _ := at(doc, "spec", "template").(object)
		if template == nil {
			continue
		}
		labels := fmt.Sprint(at(template, "metadata", "labels"))
		pods[labels] = template
		if got := fmt.Sprint(at(doc, "spec", "selector", "matchLabels")); got != labels {
			t.Errorf("%s selects %s, its pods are %s", id, got, labels)
		}
		if service := at(doc, "spec", "serviceName"); service != nil {
			exists("Service", service)
		}
		for _, v := range list(at(template, "spec", "volumes")) {
			if name := at(v, "secret", "secretName"); name != nil {
				exists("Secret", name)
			}
		}
		for _, c := range list(at(template, "spec", "containers")) {
			checkContainer(t, id, doc, c)
			for _, from := range list(at(c, "envFrom")) {
				if name := at(from, "configMapRef", "name"); name != nil {
					exists("ConfigMap", name)
				}
				if name := at(from, "secretRef", "name"); name != nil {
					exists("Secret", name)
				}
			}
		}
	}
	for id, doc := range all {
		selector := at(doc, "spec", "selector")
		switch doc["kind"] {
		case "PodDisruptionBudget":
			selector = at(selector, "matchLabels")
		case "Service":
		default:
			continue
		}
		if pods[fmt.Sprint(selector)] == nil {
			t.Errorf("%s selects %v, which no pod is", id, selector)
		}
	}
	if len(pods) != 2 {
		t.Errorf("%d kinds of pods", len(pods))
	}
}

// checkContainer: its mounts and ports are there, and it may do nothing that it need not.
func checkContainer(t *testing.T, id string, doc object, c any) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range append(list(at(doc, "spec", "template", "spec", "volumes")),
		list(at(doc, "spec", "volumeClaimTemplates"))...) {
		for _, name := range []any{at(v, "name"), at(v, "metadata", "name")} {
			volumes[text(name)] = true
		}
	}
	for _, m := range list(at(c, "volumeMounts")) {
		if !volumes[text(at(m, "name"))] {
			t.Errorf("%s mounts %v, which is no volume", id, at(m, "name"))
		}
	}
	ports := map[string]bool{}
	for _, p := range list(at(c, "ports")) {
		ports[text(at(p, "name"))] = true
	}
	for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		port := at(c, probe, "tcpSocket", "port")
		if len(ports) > 0 && !ports[text(port)] {
			t.Errorf("%s: %s asks port %v, which is none of its", id, probe, port)
		}
	}
	pod := at(doc, "spec", "template", "spec")
	for what, ok := range map[string]bool{
		"runs as root":                at(pod, "securityContext", "runAsNonRoot") == true,
		"has a service account":       at(pod, "automountServiceAccountToken") == false,
		"may gain privileges":         at(c, "securityContext", "allowPrivilegeEscalation") == false,
		"may write its own files":     at(c, "securityContext", "readOnlyRootFilesystem") == true,
		"keeps capabilities":          fmt.Sprint(at(c, "securityContext", "capabilities", "drop")) == "[ALL]",
		"has no bound of its memory":  at(c, "resources", "limits", "memory") != nil,
		"is not given time to stop":   at(pod, "terminationGracePeriodSeconds") != nil,
		"is not told before it stops": at(c, "lifecycle", "preStop") != nil,
	} {
		if !ok {
			t.Errorf("%s %s", id, what)
		}
	}
}

var bootstrap = regexp.MustCompile(`([\w-]+)=([\w.-]+):(\d+)`)

// TestBootstrapNamesTheGroup: each coordinator of a group bootstraps the same one, in
// which it is.
func TestBootstrapNamesTheGroup(t *testing.T) {
	set := resources(t)["StatefulSet/seine-coordinator"]
	replicas, name := at(set, "spec", "replicas"), text(at(set, "metadata", "name"))
	var members []string
	for _, arg := range list(at(list(at(set, "spec", "template", "spec", "containers"))[0], "args")) {
		if value, ok := strings.CutPrefix(text(arg), "--bootstrap="); ok {
			for _, m := range bootstrap.FindAllStringSubmatch(value, -1) {
				members = append(members, m[1])
				if want := m[1] + "." + text(at(set, "spec", "serviceName")); m[2] != want {
					t.Errorf("member %s is said to be at %s, not %s", m[1], m[2], want)
				}
			}
		}
	}
	for i := range 3 {
		if want := fmt.Sprintf("%s-%d", name, i); replicas != 3 || len(members) != 3 || members[i] != want {
			t.Fatalf("%v replicas of %s, but the group is %v", replicas, name, members)
		}
	}
}

// TestCompose: services, volumes and the group fit together, and nothing is published
// beyond loopback.
func TestCompose(t *testing.T) {
	doc := documents(t, "compose.yaml")[0]
	services, volumes := at(doc, "services").(object), at(doc, "volumes").(object)
	coordinators := 0
	for name, service := range services {
		needed, _ := at(service, "depends_on").(object)
		for dependency := range needed {
			if services[dependency] == nil {
				t.Errorf("%s depends on %s, which is no service", name, dependency)
			}
		}
		for _, v := range list(at(service, "volumes")) {
			volume, _, named := strings.Cut(text(v), ":")
			if _, ok := volumes[volume]; named && !ok {
				t.Errorf("%s mounts %s, which is no volume", name, volume)
			}
		}
		for _, p := range list(at(service, "ports")) {
			if !strings.HasPrefix(text(p), "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond loopback", name, p)
			}
		}
		command := fmt.Sprint(at(service, "command"))
		if !strings.HasPrefix(command, "[coordinator ") {
			continue
		}
		coordinators++
		if !strings.Contains(command, "--id "+name+" ") {
			t.Errorf("%s has another id: %s", name, command)
		}
		for _, m := range bootstrap.FindAllStringSubmatch(command, -1) {
			if m[1] != m[2] || services[m[1]] == nil {
				t.Errorf("%s bootstraps %s at %s, which is no service", name, m[1], m[2])
			}
		}
		if !strings.Contains(fmt.Sprint(at(services, "worker", "command")), "http://"+name+":7070") {
			t.Errorf("workers do not know %s", name)
		}
	}
	if coordinators != 3 {
		t.Errorf("%d coordinators", coordinators)
	}
}

// TestImage: the last stage holds one static binary and its user is not root.
func TestImage(t *testing.T) {
	b, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split(string(b), "\nFROM ")
	last := stages[len(stages)-1]
	for _, want := range []string{"distroless/static", ":nonroot", "USER 65532", `ENTRYPOINT ["/seined"]`} {
		if !strings.Contains(last, want) {
			t.Errorf("the image lacks %s:\n%s", want, last)
		}
	}
	if strings.Contains(last, "RUN ") {
		t.Error("the image has no shell to RUN with")
	}
	if !strings.Contains(stages[0]+stages[1], "CGO_ENABLED=0 go build") {
		t.Error("the binary is not built static")
	}
}

// exposure is the most that `systemd-analyze security` may find of a unit, in tenths of
// its scale of 10.
const exposure = "20"

// TestUnits has systemd read the units. Their program is replaced by one that is there.
func TestUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("NOT RUN: needs systemd-analyze, of the package systemd")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"coordinator", "worker"} {
		t.Run(part, func(t *testing.T) {
			name := "seined-" + part + ".service"
			unit, err := os.ReadFile(filepath.Join("systemd", name))
			if err != nil {
				t.Fatal(err)
			}
			const installed = "/usr/local/bin/seined"
			if !strings.Contains(string(unit), "ExecStart="+installed+" "+part+" ") {
				t.Errorf("it does not start %s %s", installed, part)
			}
			path := filepath.Join(t.TempDir(), name)
			changed := strings.ReplaceAll(string(unit), installed, program)
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"verify", path},
				{"security", "--offline=true", "--threshold=" + exposure, path}} {
				out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
				if err != nil || args[0] == "verify" && len(out) > 0 {
					t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
				}
			}
			if _, err := os.Stat(filepath.Join("systemd", part+".env.example")); err != nil {
				t.Error(err)
			}
		})
	}
}
