/** The alerts and the dashboard of `deploy/`, as tests look at them. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

/** Where they are. */
export const DEPLOY = resolve(import.meta.dirname, "../../deploy")

/** The rules for Prometheus, as text. */
export const RULES = readFileSync(resolve(DEPLOY, "prometheus/rules.yml"), "utf8")

/** The run-book, as text. */
export const RUNBOOK = readFileSync(resolve(DEPLOY, "../docs/runbook.md"), "utf8")

/** An alert as it is written. */
export interface Alert {
  readonly name: string
  /** Its fields on their own lines, by name. */
  readonly fields: Readonly<Record<string, string>>
}

/** All of them. */
export function alertsIn(rules: string): readonly Alert[] {
  return rules
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => ({
      name: /^\w+/.exec(text)?.[0] ?? "",
      fields: Object.fromEntries(
        [...text.matchAll(/^ +(\w+):(?: (.+))?$/gm)].map(([, name = "", value = ""]) => [
          name,
          value,
        ]),
      ),
    }))
}

/** The metrics that a text names: what begins as all of ours do. */
export function metricsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\bledger_\w+/g)].map(([name]) => name))].toSorted()
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** The dashboard, as far as it is looked at. */
export const DASHBOARD = JSON.parse(
  readFileSync(resolve(DEPLOY, "grafana/dashboard.json"), "utf8"),
) as { readonly panels: readonly Panel[] }

/** Everything that its panels ask Prometheus, with its variables filled in. */
export function dashboardQueries(): readonly string[] {
  return DASHBOARD.panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
    ),
  )
}
