import { z } from "zod"
import { causedBy } from "../frame/kernel/envelope.ts"
import { describedId } from "../frame/kernel/schema.ts"
import type { RawRequest, Reply } from "../frame/routes/declare/route.ts"
import { RAW_BODY, publicRoute } from "../frame/routes/declare/route.ts"
import type { SubmittedForm } from "../frame/routes/declare/public-form.ts"
import {
  isAllowedOrigin,
  signPageTime,
  parseForm,
  robotSignal,
  PAGE_TIME_FIELD,
  honeypotHtml,
} from "../frame/routes/declare/public-form.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import { parseLeadContent } from "./lead-content.ts"
import type { LeadForm } from "./receive-lead.ts"
import { findOpenForm, formNotFound, receiveLead } from "./receive-lead.ts"
import type { Metric } from "../frame/http/metrics.ts"
import { escapeHtml, htmlPage } from "../frame/routes/answers/answer-bodies.ts"

const FORM_URL = "/forms/:formId"
const MAX_BYTES = 65_536
const FORMS_SENT: RateLimit = {
  name: "form",
  max: 10,
  per: "address",
  calls: "forms sent from this address",
}

const base = {
  group: "leads",
  params: z.object({ formId: z.string() }),
  query: ANY_QUERY,
} as const
const Nothing = z.object({})
const Sent = z.object({ id: describedId("the lead") })

export const submitForm = publicRoute({
  ...base,
  name: "submitForm",
  method: "POST",
  url: FORM_URL,
  summary: "Send a form",
  refusalTitle: "Nothing was sent",
  rateLimit: FORMS_SENT,
  bodyLimitBytes: MAX_BYTES,
  body: RAW_BODY,
  statuses: [201, 303],
  reply: Sent,
  refusalCodes: ["not_allowed", "not_found", "too_large", "unsupported_media_type", "unavailable"],
  handle: async (ports, { body, params: { formId }, rawRequest }) => {
    const form = parseForm(rawRequest, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    const accepted = await acceptForm(ports, formId, form, rawRequest)
    if ("refusal" in accepted) return { ok: false, refusal: accepted.refusal }
    const location = thanksPath(formId)
    return {
      ok: true,
      body: accepted,
      ...(form.isFromBrowser ? { status: 303, location } : { status: 201 }),
    }
  },
})

async function acceptForm(
  ports: Ports,
  formId: string,
  { values }: SubmittedForm,
  sent: RawRequest,
): Promise<{ readonly id: string } | { readonly refusal: Refusal }> {
  const form = await findOpenForm(ports, formId)
  if (form === null) return { refusal: formNotFound() }
  if (!isAllowedOrigin(ports, sent, form.hostnames)) {
    const message =
      "Pages of this host name may not send this form. Open the form's own page, or ask the operator to allow the host name."
    return { refusal: refusal("not_allowed", message) }
  }
  if (isRobot(ports, form, values)) {
    // Looks like the id of a lead, and derives from nothing that was sent.
    return { id: `lead_${await ports.sealing.tag(form.companyId, sent.requestId)}` }
  }
  const content = parseLeadContent(values)
  if ("refusal" in content) return content
  const received = await receiveLead(ports, form, content, sent.address, causedBy(sent.requestId))
  return "refusal" in received ? received : { id: received.leadId }
}

export const showForm = publicRoute({
  ...base,
  name: "showForm",
  method: "GET",
  url: FORM_URL,
  summary: "Show the page of a form",
  refusalTitle: "Not found",
  reply: Nothing,
  refusalCodes: ["not_found"],
  handle: (ports, { params }) =>
    showFormPage(ports, params.formId, (form) => formPage(form, signPageTime(ports, form.formId))),
})

/** Shows the page after a form. */
export const showThanks = publicRoute({
  ...base,
  name: "showThanks",
  method: "GET",
  url: `${FORM_URL}/thanks`,
  summary: "Show the page after a form",
  refusalTitle: "Not found",
  reply: Nothing,
  refusalCodes: ["not_found"],
  handle: (ports, { params }) => showFormPage(ports, params.formId, ({ name }) => thanksPage(name)),
})

async function showFormPage(
  ports: Pick<Ports, "readAll" | "runner">,
  formId: string,
  pageOf: (form: LeadForm) => string,
): Promise<Reply<z.infer<typeof Nothing>>> {
  const form = await findOpenForm(ports, formId)
  if (form === null) return { ok: false, refusal: formNotFound() }
  return { ok: true, body: {}, page: pageOf(form) }
}

// Robots get the same answer as people; nothing of theirs is stored, and a metric counts them.

const MANY_LINKS = 3

/** Whether a robot probably sent the form; robots are counted. */
function isRobot(
  ports: Pick<Ports, "clock" | "counters" | "sealing">,
  { formId, refuseLinks }: LeadForm,
  values: ReadonlyMap<string, string>,
): boolean {
  const given = robotSignal(ports, formId, values)
  // A form on a company's own page has no signed time.
  const found = given === "unsigned" ? null : given
  const reason = found ?? (refuseLinks && hasManyLinks(values) ? "links" : null)
  if (reason !== null) ports.counters.increment("robots", { reason })
  return reason !== null
}

/** At least three links, and no usable email address. */
function hasManyLinks(values: ReadonlyMap<string, string>): boolean {
  const written = [...values].filter(([name]) => name !== "pageUrl" && !name.startsWith("_"))
  const text = written.map(([, value]) => value).join("\n")
  const links = text.match(/https?:\/\/|(?<![\w/.])www\./gi) ?? []
  return links.length >= MANY_LINKS && !/@[^\s@]+\.[^\s@]/.test(values.get("email") ?? "")
}

export const robotMetric: Metric = {
  name: "ledger_form_robots_total",
  help: "Forms that robots sent, by reason; they are not stored.",
  labels: ["reason"],
  isCounter: true,
  read: async ({ counters }) => counters.read("robots"),
}

const FIELDS = [
  ["firstName", "First name", 'autocomplete="given-name"'],
  ["lastName", "Last name", 'autocomplete="family-name"'],
  ["email", "Email", 'type="email" autocomplete="email"'],
  ["phone", "Phone", 'type="tel" autocomplete="tel"'],
] as const

/** The path of a form's page and submission. */
export const formPath = (formId: string): string => `/forms/${formId}`
const thanksPath = (formId: string): string => `${formPath(formId)}/thanks`

function formHtml(action: string, hidden: string): string {
  const inputs = FIELDS.map(
    ([name, label, rest]) => `  <label>${label} <input name="${name}" ${rest}></label>`,
  )
  return [
    `<form method="post" action="${escapeHtml(action)}">`,
    ...inputs,
    '  <label>Message <textarea name="message" rows="5"></textarea></label>',
    ...hidden.split("\n").map((line) => `  ${line}`),
    '  <button type="submit">Send</button>',
    "</form>",
  ].join("\n")
}

function formPage(form: { formId: string; name: string }, time: string): string {
  const hidden = `${honeypotHtml('class="away"')}\n<input type="hidden" name="${PAGE_TIME_FIELD}" value="${escapeHtml(time)}">`
  const note = "<p>Enter an email address or a phone number, so that we can answer.</p>"
  return htmlPage(form.name, `${note}\n${formHtml(formPath(form.formId), hidden)}`)
}

/** The HTML of a form for a company's own page. @param baseUrl the address of this service */
export function snippetOf(baseUrl: string, formId: string): string {
  const away = honeypotHtml('style="position:absolute;left:-100rem"')
  return formHtml(`${baseUrl}${formPath(formId)}`, away)
}

function thanksPage(name: string): string {
  return htmlPage(name, "<p>Thank you. Your message was sent.</p>")
}
