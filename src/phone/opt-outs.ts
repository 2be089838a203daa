import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { ChangeOptOut, Recipient } from "../../domain/phone/recipient.ts"
import type { OptOutRow } from "../../projections/phone/opt-outs.ts"
import { listOptOuts } from "../../projections/phone/opt-outs.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Reply } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import type { Ports } from "../frame/ports.ts"
import {
  INVALID_PHONE_NUMBER,
  phoneNumberFault,
  phoneStringSchema,
} from "../frame/kernel/phone-number-fault.ts"
import { isoTimeSchema, parseFullNumber } from "../frame/kernel/schema.ts"

const MAX_OPT_OUTS = 500
const OWN_WRITE_WAIT_MS = 2_000
const URL = "/api/v1/phone/opt-outs"

const OptOut = z
  .object({
    phone: z.string().nullable().describe("The person's number; null after erasure"),
    status: z.enum(["out", "in"]).describe("`out`: must not be texted; `in`: opted in again"),
    keyword: z.string().nullable().describe("The word that was texted, or null"),
    source: z.enum(["text", "api"]).describe("Whether it came by text or through the API"),
    at: isoTimeSchema.describe("When it last changed"),
    since: isoTimeSchema.describe("When the current status began"),
  })
  .meta({ id: "OptOut", description: "Whether a person may be texted" })
const OptOuts = z
  .object({ optOuts: z.array(OptOut).describe(`Up to ${MAX_OPT_OUTS}, last changed first`) })
  .meta({ id: "OptOuts", description: "People who must not be texted" })
const fullPhone = phoneStringSchema.describe("Phone number in E.164, such as +14155550123")
const Phone = z.object({ phone: fullPhone })
const MaybePhone = z.object({ phone: fullPhone.optional() })
const EXAMPLE = { phone: "+14155557777" }

const NO_OPT_OUT = "There is no opt-out for this number."
const TEXTED_STOP = "This person texted STOP and can only opt back in by texting START."

type Answer = Reply<z.infer<typeof OptOuts>>

/** Lists opt-outs, last changed first, up to 500. */
export const optOutList = route({
  name: "listOptOuts",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "List opt-outs",
  operation: "phone.overview.read",
  isCounted: true,
  reply: OptOuts,
  readModels: ["opt-outs"],
  handle: (ports, caller) => optOutsReply(ports, caller, null),
})

/** Stops texting a number. */
export const addOptOut = route({
  name: "addOptOut",
  method: "POST",
  url: URL,
  group: "phone",
  summary: "Stop texting a number",
  example: { body: EXAMPLE },
  operation: "phone.optouts.add",
  isCounted: true,
  body: Phone,
  reply: OptOuts,
  refusalCodes: ["bad_number"],
  refusalMessages: { bad_number: INVALID_PHONE_NUMBER },
  specGap: "The specification does not show the method: POST, because it adds an opt-out.",
  handle: (ports, caller, { body }) => changeOptOut(ports, caller, "AddOptOut", body.phone),
})

/** Undoes an opt-out that was added through the API. */
export const removeOptOut = route({
  name: "removeOptOut",
  method: "DELETE",
  url: URL,
  group: "phone",
  summary: "Undo an opt-out added through the API",
  example: { body: EXAMPLE },
  operation: "phone.optouts.remove",
  isCounted: true,
  body: MaybePhone,
  query: MaybePhone,
  reply: OptOuts,
  refusalCodes: ["bad_number", "conflict", "not_found"],
  refusalMessages: {
    bad_number: INVALID_PHONE_NUMBER,
    conflict: TEXTED_STOP,
    not_found: NO_OPT_OUT,
  },
  specGap:
    "The specification does not show the method: DELETE, with `phone` in the body or the query.",
  handle: async (ports, caller, { body, query }) => {
    const phone = body.phone ?? query.phone
    if (phone !== undefined) {
      const source = body.phone === undefined ? "query" : "body"
      return changeOptOut(ports, caller, "RemoveOptOut", phone, source)
    }
    const fields = { phone: "Is required, in the body or the query." }
    return { ok: false, refusal: invalidRefusal(fields) }
  },
})

async function changeOptOut(
  ports: Pick<Ports, "projector" | "readAs" | "runner" | "sealing">,
  caller: Caller,
  type: ChangeOptOut["type"],
  text: string,
  source: "body" | "query" = "body",
): Promise<Answer> {
  const phone = parseFullNumber(text)
  if (phone === null) {
    const message = phoneNumberFault(text, source) ?? INVALID_PHONE_NUMBER
    return { ok: false, refusal: refusal("bad_number", message) }
  }
  const { companyId } = caller
  const tag = await ports.sealing.tag(companyId, phone)
  const command = { type, phone: await ports.sealing.seal(companyId, tag, phone) }
  const cause = causeOf(caller)
  const view = (_state: Recipient) => undefined
  const stream = recipientStreamOf(companyId, tag)
  const outcome = await ports.runner.execute(stream, command, cause, view)
  if (outcome.accepted) return optOutsReply(ports, caller, outcome.position)
  if (outcome.refusal.code === "no_opt_out") {
    return { ok: false, refusal: refusal("not_found", NO_OPT_OUT) }
  }
  return { ok: false, refusal: refusal("conflict", TEXTED_STOP) }
}

/** The list, including the caller's own write at `writtenAt`. */
async function optOutsReply(
  ports: Pick<Ports, "projector" | "readAs">,
  caller: Caller,
  writtenAt: Position | null,
): Promise<Answer> {
  if (writtenAt !== null)
    await ports.projector.waitUntilWritten(writtenAt, OWN_WRITE_WAIT_MS, ["opt-outs"])
  const { companyId } = caller
  const rows = await ports.readAs(companyId, (db) => listOptOuts(db, companyId, MAX_OPT_OUTS))
  return { ok: true, body: { optOuts: rows.map(optOutOf) }, position: writtenAt }
}

function optOutOf(row: OptOutRow): z.infer<typeof OptOut> {
  return {
    phone: row.phone,
    status: row.status,
    keyword: row.keyword,
    source: row.source,
    at: row.changed_at.toISOString(),
    since: row.since.toISOString(),
  }
}
