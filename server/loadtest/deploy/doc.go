// Package deploy tests the files in the folder deploy of the repository: the manifests, the chart, the dashboard, the
// alert rules, the systemd unit and the container image.
package deploy
