/**
 * Who sends a form that is open to everybody: from which page it may come, and what gives robots away. They
 * are answered like everybody, nothing of what they sent is stored, and the metrics say how many there were.
 */
import type { AsSent } from "../as-sent.ts"
import { fieldOf } from "../as-sent.ts"
import type { Ports } from "../../ports.ts"

declare module "../../counts.ts" {
  interface Counted {
    /** Forms that robots sent, by what gave them away. */
    readonly robots: "by"
  }
}

/** Filled by whoever fills all that there is: people do not see it. */
export const HONEYPOT = "website_url"
/** When a hosted page was made, signed. */
export const PAGE_TIME = "_time"

/** Nobody fills in a form in less. */
const QUICK_MS = 2_000

/**
 * When a hosted page was made, so that nobody else can say it.
 *
 * @param form what the page is of, unique in the installation
 */
export function signedTime(
  { sealing, clock }: Pick<Ports, "sealing" | "clock">,
  form: string,
  at: number = clock.now(),
): string {
  const time = at.toString(36)
  return `${time}-${sealing.installationTag(`form page ${form} ${time}`)}`
}

/**
 * What gives a robot away, whatever the form asks for: `unsigned` is a form that does not say when its page
 * was made, as those on pages of others are. Null where nothing does.
 */
export function givenAwayBy(
  ports: Pick<Ports, "sealing" | "clock">,
  form: string,
  values: ReadonlyMap<string, string>,
): "honeypot" | "quick" | "unsigned" | null {
  if ((values.get(HONEYPOT) ?? "") !== "") return "honeypot"
  const time = values.get(PAGE_TIME) ?? ""
  const at = Number.parseInt(/^[0-9a-z]{1,9}-/.exec(time)?.[0] ?? "", 36)
  if (Number.isNaN(at) || time !== signedTime(ports, form, at)) return "unsigned"
  return ports.clock.now() - at < QUICK_MS ? "quick" : null
}

/**
 * Whether the page it comes from may send it: this service's own, that of the host it is sent to, one of
 * these host names, or one that does not say where it is, as programs and browsers that keep it to themselves.
 */
export function mayCome(
  { baseUrl }: Pick<Ports, "baseUrl">,
  sent: AsSent,
  hostnames: readonly string[] = [],
): boolean {
  const said = fieldOf(sent, "origin") ?? "null"
  if (said === "null") return true
  const origin = URL.parse(said)
  if (origin === null) return false
  const own = URL.parse(baseUrl())
  const isOwn = origin.host === own?.host || origin.host === fieldOf(sent, "host")
  return isOwn || hostnames.includes(origin.hostname)
}

/** HTML of the field that people do not see, in a form. @param attribute what takes it out of sight */
export const honeypot = (attribute: string): string =>
  `<label ${attribute} aria-hidden="true">Leave this empty ` +
  `<input name="${HONEYPOT}" tabindex="-1" autocomplete="off"></label>`
