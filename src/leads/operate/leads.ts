import { z } from "zod"
import { leadsStreamOf } from "../../../domain/leads/aggregates.ts"
import { parseLeadId } from "../../../domain/leads/lead-events.ts"
import { companyOfLead, listLeads } from "../../../projections/leads/leads.ts"
import {
  requireAccepted,
  companyInput,
  timeInput,
  findCompany,
  findUnerasedCompany,
  listLimitInput,
  waitForOwnWrites,
  textInput,
} from "../../frame/operator/inputs.ts"
import { HONEYPOT_FIELD, PAGE_TIME_FIELD } from "../../frame/routes/declare/public-form.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { parseLeadContent, leadReply } from "../lead-content.ts"
import { receiveLead } from "../receive-lead.ts"
import { findFormById } from "./forms.ts"

/** The source of leads that operators add, in place of an address. */
const OPERATOR_SOURCE = "operator"

const pair = z
  .string()
  .regex(/^[^=]+=/, "must be NAME=VALUE")
  .transform((text) => {
    const equals = text.indexOf("=")
    return [text.slice(0, equals), text.slice(equals + 1)] as const
  })

const add = operation({
  name: "lead add",
  summary: "add a lead, as if its form had been sent",
  notes: ["Give --email, --phone or both."],
  example: "lead add --company acme --form form_4Zb0x7 --first-name Ada --email ada@example.com",
  changes: true,
  input: z.object({
    company: companyInput,
    form: z.string().meta({ description: "the form, by id", takes: "form-id" }),
    firstName: textInput.optional().meta({ description: "first name", takes: "name" }),
    lastName: textInput.optional().meta({ description: "last name", takes: "name" }),
    email: textInput.optional().meta({ description: "email address as written" }),
    phone: textInput.optional().meta({ description: "phone number as written" }),
    message: textInput.optional().meta({ description: "the message", takes: "text" }),
    fields: z
      .array(pair)
      .default([])
      .meta({ description: "a custom field of the form", flag: "field", takes: "name=value" }),
  }),
  run: async ({ ports, cause }, { company: named, form, fields, ...known }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const { formId, companyId: owner } = await findFormById(ports, form)
    if (owner !== companyId)
      throw new OperatorRefused("not_found", `${named} has no form with the id ${form}.`)
    const given = Object.entries(known).filter((one): one is [string, string] => !!one[1])
    rejectReservedFields([...given, ...fields].map(([name]) => name))
    const content = parseLeadContent(new Map([...given, ...fields]))
    if ("refusal" in content) throw operatorErrorFrom(content.refusal)
    const received = await receiveLead(
      ports,
      { companyId, formId },
      content,
      OPERATOR_SOURCE,
      cause,
    )
    if ("refusal" in received) throw operatorErrorFrom(received.refusal)
    await waitForOwnWrites(ports)
    return { leadId: received.leadId, companyId, formId }
  },
})

const RESERVED_FIELDS: ReadonlySet<string> = new Set([HONEYPOT_FIELD, PAGE_TIME_FIELD])

/** Rejects fields that a form would silently ignore. */
function rejectReservedFields(names: readonly string[]): void {
  const invalidName = names.find(
    (name, i) => RESERVED_FIELDS.has(name) || names.indexOf(name) !== i,
  )
  if (invalidName === undefined) return
  const why = RESERVED_FIELDS.has(invalidName) ? "is reserved" : "is given twice"
  throw new OperatorRefused("validation", `--field ${invalidName}: the name ${why}.`)
}

const operatorErrorFrom = ({ error, message }: { error: string; message: string }) =>
  new OperatorRefused(error, message)

const list = operation({
  name: "lead list",
  summary: "list a company's leads, oldest first",
  notes: ["Times are UTC. --json shows the complete content."],
  example: "lead list --company acme --since 2026-11-21T12:00:00Z",
  input: z.object({
    company: companyInput,
    since: timeInput.optional().meta({ description: "only those after this time" }),
    limit: listLimitInput,
  }),
  run: async ({ ports }, { company: named, since, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const after = since === undefined ? null : new Date(since)
    // One extra row tells whether more exist.
    const rows = await listLeads(ports.readAll, companyId, after, limit + 1)
    const leads = rows.slice(0, limit).map(leadReply)
    return { leads, next: rows.length > limit ? (leads.at(-1)?.createdAt ?? null) : null }
  },
  render: ({ leads, next }, page) => {
    const rows = leads.map(({ createdAt, id, firstName, lastName, email, phone, collectedAt }) => {
      return { createdAt, id, firstName, lastName, email, phone, collectedAt }
    })
    const more = next === null ? "" : `There are more; continue with --since ${next}\n`
    return renderTable(rows, page, "leads") + more
  },
})

const erase = operation({
  name: "lead erase",
  summary: "erase the content of a lead for good",
  notes: ["Its id, form and time stay, so that lists keep their order."],
  example: 'lead erase lead_4Zb0x7 --reason "asked for by the person"',
  changes: true,
  irreversible: { field: "leadId", says: "the content of the lead is erased for good" },
  input: z.object({
    leadId: z.string().meta({ description: "the lead, by id", argument: "LEAD_ID" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { leadId: named }) => {
    await waitForOwnWrites(ports)
    const leadId = parseLeadId(named)
    const companyId = leadId === null ? null : await companyOfLead(ports.readAll, leadId)
    if (leadId === null || companyId === null) {
      const message = `There is no lead ${named}. List them with "lead list --company COMPANY".`
      throw new OperatorRefused("not_found", message)
    }
    requireAccepted(
      await ports.runner.execute(leadsStreamOf(companyId), { type: "EraseLead", leadId }, cause),
    )
    await waitForOwnWrites(ports)
    return { leadId, companyId, status: "erased" }
  },
})

export const leadOperations: readonly AdminOperation[] = [add, list, erase]
