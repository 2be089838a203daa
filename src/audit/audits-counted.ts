import type { Measure } from "../frame/http/metrics.ts"

/** Each begins at nothing: of a series that begins at one nobody sees that it grew. */
const RESULTS = ["held", "broken"]

/** Audits, by what they found. */
export const auditsCounted: Measure = {
  name: "ledger_audits_total",
  help: "Audits (`audit verify`) that were carried out by this process, by what they found.",
  labels: ["result"],
  isCount: true,
  read: async ({ counts }) => {
    const found = counts.read("audits")
    return RESULTS.map((result) => ({
      labels: { result },
      value: found.find(({ labels }) => labels["result"] === result)?.value ?? 0,
    }))
  },
}
