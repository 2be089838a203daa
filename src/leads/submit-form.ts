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
import { mayCome, signedTime, formIn } from "../frame/routes/declare/form-sender.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import { contentOf } from "./content.ts"
import { formPage, thanksPage, thanksPath } from "./form-page.ts"
import type { OpenForm } from "./open-form.ts"
import { findOpenForm, noForm } from "./open-form.ts"
import { receiveLead } from "./receive-lead.ts"
import { isRobot } from "./robots.ts"

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
