// Package deploy holds what runs a cluster: the image, the compose file, the
// Kubernetes manifests and the systemd units. It has no code; its tests read the
// files as their tools do.
package deploy
