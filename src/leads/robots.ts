/**
 * What gives robots away. They are answered like everybody, nothing of what they sent is stored, and the
 * metrics say how many there were.
 */
import { givenAwayBy } from "../frame/routes/declare/form-sender.ts"
import type { Ports } from "../frame/ports.ts"
import type { Measure } from "../frame/http/metrics.ts"
import type { OpenForm } from "./open-form.ts"

const MANY_LINKS = 3

/** Whether a robot sent a form, as far as that can be told; it is counted. */
export function isRobot(
  ports: Pick<Ports, "clock" | "counts" | "sealing">,
  { formId, refuseLinks }: OpenForm,
  values: ReadonlyMap<string, string>,
): boolean {
  const given = givenAwayBy(ports, formId, values)
  // A form of one's own site has no time.
  const found = given === "unsigned" ? null : given
  const by = found ?? (refuseLinks && hasManyLinks(values) ? "links" : null)
  if (by !== null) ports.counts.add("robots", { by })
  return by !== null
}

/** Three links, and no address of a domain to answer to. */
function hasManyLinks(values: ReadonlyMap<string, string>): boolean {
  const written = [...values].filter(([name]) => name !== "pageUrl" && !name.startsWith("_"))
  const text = written.map(([, value]) => value).join("\n")
  const links = text.match(/https?:\/\/|(?<![\w/.])www\./gi) ?? []
  return links.length >= MANY_LINKS && !/@[^\s@]+\.[^\s@]/.test(values.get("email") ?? "")
}

/** What `/metrics` tells of them. */
export const robotMeasure: Measure = {
  name: "ledger_form_robots_total",
  help: "Forms that robots sent, by what gave them away; nothing of them is stored.",
  labels: ["by"],
  isCount: true,
  read: async ({ counts }) => counts.read("robots"),
}
