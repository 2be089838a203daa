/**
 * What gives robots away. They are answered like everybody, nothing of what they sent is stored, and the
 * metrics say how many there were.
 */
import type { Ports } from "../frame/ports.ts"
import type { Measure } from "../frame/http/metrics.ts"
import { HONEYPOT, PAGE_TIME } from "./content.ts"
import type { OpenForm } from "./open-form.ts"

declare module "../frame/counts.ts" {
  interface Counted {
    /** Forms that robots sent, by what gave them away. */
    readonly robots: "by"
  }
}

/** Nobody fills in a form in less. */
const QUICK_MS = 2_000
const MANY_LINKS = 3

/** When a hosted page was made, so that nobody else can say it. */
export function signedTime(
  { sealing, clock }: Pick<Ports, "sealing" | "clock">,
  formId: string,
  at: number = clock.now(),
): string {
  const time = at.toString(36)
  return `${time}-${sealing.installationTag(`form page ${formId} ${time}`)}`
}

/** Whether a robot sent a form, as far as that can be told; it is counted. */
export function isRobot(
  ports: Ports,
  form: OpenForm,
  values: ReadonlyMap<string, string>,
): boolean {
  const by = givenAwayBy(ports, form, values)
  if (by !== null) ports.counts.add("robots", { by })
  return by !== null
}

function givenAwayBy(
  ports: Ports,
  { formId, refuseLinks }: OpenForm,
  values: ReadonlyMap<string, string>,
): "honeypot" | "quick" | "links" | null {
  if ((values.get(HONEYPOT) ?? "") !== "") return "honeypot"
  const time = values.get(PAGE_TIME) ?? ""
  const at = Number.parseInt(/^[0-9a-z]{1,9}-/.exec(time)?.[0] ?? "", 36)
  // A form of one's own site has no time.
  const isOurs = !Number.isNaN(at) && time === signedTime(ports, formId, at)
  if (isOurs && ports.clock.now() - at < QUICK_MS) return "quick"
  return refuseLinks && hasManyLinks(values) ? "links" : null
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
