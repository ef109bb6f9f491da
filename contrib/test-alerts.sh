#!/usr/bin/env bash
# Checks the alert rules and the expressions of the dashboard with Prometheus's promtool, and that rules fire when they are to.
# That both name metrics which exist is a test of crates/server.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v promtool >/dev/null; then
    echo "skipped: alert rules and the dashboard: promtool (of the package prometheus) is not installed"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
promtool check rules alerts.yml
# The expressions of the dashboard, each as a rule of its own.
{
    printf 'groups:\n  - name: dashboard\n    rules:\n'
    grep -o '"expr": *"\([^"\\]\|\\.\)*"' grafana.json | sed 's/^"expr": *//' | awk '{ print "      - {record: \"panel:" NR "\", expr: " $0 "}" }'
} >"$work/dashboard.yml"
promtool check rules "$work/dashboard.yml"
cp alerts.yml "$work/"
cat >"$work/test.yml" <<'RULES'
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'planaria_up{instance="a"}', values: "1x20"}
      - {series: 'planaria_memory_bytes{instance="a",of="rows"}', values: "900x20"}
      - {series: 'planaria_memory_bytes{instance="a",of="indexes"}', values: "50x20"}
      - {series: 'planaria_memory_bytes{instance="a",of="process"}', values: "5000x20"}
      - {series: 'planaria_memory_bytes{instance="a",of="budget"}', values: "1000x20"}
      - {series: 'planaria_memory_bytes{instance="without",of="rows"}', values: "900x20"}
      - {series: 'planaria_memory_bytes{instance="roomy",of="rows"}', values: "890x20"}
      - {series: 'planaria_memory_bytes{instance="roomy",of="budget"}', values: "1000x20"}
      - {series: 'planaria_restart_seconds{instance="a",of="load"}', values: "40x20"}
      - {series: 'planaria_restart_seconds{instance="a",of="replay"}', values: "30x20"}
      - {series: 'planaria_connections{instance="a"}', values: "95x20"}
      - {series: 'planaria_connections_max{instance="a"}', values: "100x20"}
    alert_rule_test:
      - eval_time: 15m
        alertname: PlanariaMemoryBudget
        exp_alerts:
          - exp_labels: {instance: a, severity: warning}
            exp_annotations: {summary: "Nine tenths of the memory budget are used: soon only reads and deletes will work."}
      - eval_time: 15m
        alertname: PlanariaRestartTooLong
        exp_alerts:
          - exp_labels: {instance: a, severity: warning}
            exp_annotations: {summary: "A restart would take more than a minute."}
      - eval_time: 15m
        alertname: PlanariaConnections
        exp_alerts:
          - exp_labels: {instance: a, severity: warning}
            exp_annotations: {summary: "Nine tenths of the connections are in use."}
      - eval_time: 15m
        alertname: PlanariaDown
  - interval: 1m
    input_series: []
    alert_rule_test:
      - eval_time: 5m
        alertname: PlanariaDown
        exp_alerts:
          - exp_labels: {severity: critical}
            exp_annotations: {summary: "Clients are not served: the server is down, or its recovery takes long."}
RULES
promtool test rules "$work/test.yml"
