/**
 * `/forms/:formId`, outside of the API and open to everybody: the hosted page of a form, where it is sent
 * to, and the page behind that.
 */
import { z } from "zod"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idOf } from "../frame/kernel/schema.ts"
import type { AsSent, Reply } from "../frame/routes/declare/route.ts"
import { BYTES, openRoute } from "../frame/routes/declare/route.ts"
import type { SentForm } from "../frame/routes/declare/form-sender.ts"
import {
  mayCome,
  signedTime,
  formIn,
  givenAwayBy,
  PAGE_TIME,
  honeypot,
} from "../frame/routes/declare/form-sender.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import { contentOf } from "./content.ts"
import type { OpenForm } from "./receive-lead.ts"
import { findOpenForm, noForm, receiveLead } from "./receive-lead.ts"
import type { Measure } from "../frame/http/metrics.ts"
import { escaped, htmlPage } from "../frame/routes/answers/sent.ts"

const URL_OF_FORM = "/forms/:formId"
const MOST_BYTES = 65_536
const FORMS_SENT: RateLimit = {
  name: "form",
  most: 10,
  per: "address",
  calls: "forms sent from this address",
}

const base = {
  group: "leads",
  params: z.object({ formId: z.string() }),
  query: ANY_QUERY,
} as const
const Nothing = z.object({})
const Sent = z.object({ id: idOf("the lead") })

/** Takes a form in. */
export const submitForm = openRoute({
  ...base,
  name: "submitForm",
  method: "POST",
  url: URL_OF_FORM,
  summary: "Send a form",
  refusalTitle: "Nothing was sent",
  limit: FORMS_SENT,
  bodyLimitBytes: MOST_BYTES,
  body: BYTES,
  success: [201, 303],
  reply: Sent,
  refuses: ["not_allowed", "not_found", "too_large", "unsupported_media_type", "unavailable"],
  handle: async (ports, { body, params: { formId }, sent }) => {
    const form = formIn(sent, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    const taken = await takeIn(ports, formId, form, sent)
    if ("refusal" in taken) return { ok: false, refusal: taken.refusal }
    const location = thanksPath(formId)
    return { ok: true, body: taken, ...(form.isPage ? { status: 303, location } : { status: 201 }) }
  },
})

async function takeIn(
  ports: Ports,
  formId: string,
  { values }: SentForm,
  sent: AsSent,
): Promise<{ readonly id: string } | { readonly refusal: Refusal }> {
  const form = await findOpenForm(ports, formId)
  if (form === null) return { refusal: noForm() }
  if (!mayCome(ports, sent, form.hostnames)) {
    const message = "This form is not sent from pages of this host name."
    return { refusal: refusal("not_allowed", message) }
  }
  if (isRobot(ports, form, values)) {
    // Made as that of a lead is, of nothing that was sent.
    return { id: `lead_${await ports.sealing.tag(form.companyId, sent.requestId)}` }
  }
  const content = contentOf(values)
  if ("refusal" in content) return content
  const received = await receiveLead(ports, form, content, sent.address, causedBy(sent.requestId))
  return "refusal" in received ? received : { id: received.leadId }
}

/** Shows a form. */
export const showForm = openRoute({
  ...base,
  name: "showForm",
  method: "GET",
  url: URL_OF_FORM,
  summary: "The page of a form",
  refusalTitle: "Not found",
  reply: Nothing,
  refuses: ["not_found"],
  handle: (ports, { params }) =>
    shown(ports, params.formId, (form) => formPage(form, signedTime(ports, form.formId))),
})

/** Shows that a form was sent. */
export const showThanks = openRoute({
  ...base,
  name: "showThanks",
  method: "GET",
  url: `${URL_OF_FORM}/thanks`,
  summary: "The page behind a form",
  refusalTitle: "Not found",
  reply: Nothing,
  refuses: ["not_found"],
  handle: (ports, { params }) => shown(ports, params.formId, ({ name }) => thanksPage(name)),
})

async function shown(
  ports: Pick<Ports, "readAll" | "runner">,
  formId: string,
  pageOf: (form: OpenForm) => string,
): Promise<Reply<z.infer<typeof Nothing>>> {
  const form = await findOpenForm(ports, formId)
  if (form === null) return { ok: false, refusal: noForm() }
  return { ok: true, body: {}, page: pageOf(form) }
}

// What gives robots away. They are answered like everybody, nothing of what they sent is stored, and the
// metrics say how many there were.

const MANY_LINKS = 3

/** Whether a robot sent a form, as far as that can be told; it is counted. */
function isRobot(
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

/** A field of the hosted page: its name, what stands beside it, and what browsers may fill in. */
const FIELDS = [
  ["firstName", "First name", 'autocomplete="given-name"'],
  ["lastName", "Last name", 'autocomplete="family-name"'],
  ["email", "Email", 'type="email" autocomplete="email"'],
  ["phone", "Phone", 'type="tel" autocomplete="tel"'],
] as const

/** Where a form is sent to, and its page is. */
export const formPath = (formId: string): string => `/forms/${formId}`
/** Where those are led who sent it. */
const thanksPath = (formId: string): string => `${formPath(formId)}/thanks`

/** HTML of a form as it stands in any page. @param hidden HTML of what stands in it unseen */
function formHtml(action: string, hidden: string): string {
  const inputs = FIELDS.map(
    ([name, label, rest]) => `  <label>${label} <input name="${name}" ${rest}></label>`,
  )
  return [
    `<form method="post" action="${escaped(action)}">`,
    ...inputs,
    '  <label>Message <textarea name="message" rows="5"></textarea></label>',
    ...hidden.split("\n").map((line) => `  ${line}`),
    '  <button type="submit">Send</button>',
    "</form>",
  ].join("\n")
}

/** The hosted page. @param time when it was made, signed */
function formPage(form: { formId: string; name: string }, time: string): string {
  const hidden = `${honeypot('class="away"')}\n<input type="hidden" name="${PAGE_TIME}" value="${escaped(time)}">`
  const note = "<p>Give an email or a phone number, so that somebody can answer.</p>"
  return htmlPage(form.name, `${note}\n${formHtml(formPath(form.formId), hidden)}`)
}

/** HTML to put on a page of one's own. @param baseUrl the address of this service */
export function snippetOf(baseUrl: string, formId: string): string {
  const away = honeypot('style="position:absolute;left:-100rem"')
  return formHtml(`${baseUrl}${formPath(formId)}`, away)
}

/** What those see who sent a form. */
function thanksPage(name: string): string {
  return htmlPage(name, "<p>Thank you. It was sent.</p>")
}
