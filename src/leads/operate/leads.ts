/** Leads of a company: put in by hand, listed, and erased. */
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

/** Where those come from that an operator writes down. */
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
  summary: "put a lead in by hand, as if its form had been sent",
  notes: ["Give --email, --phone or both."],
  example: "lead add --company acme --form form_4Zb0x7 --first-name Ada --email ada@example.com",
  changes: true,
  input: z.object({
    company: companyInput,
    form: z.string().meta({ description: "the form, by id", takes: "form-id" }),
    firstName: textInput.optional().meta({ description: "their first name", takes: "name" }),
    lastName: textInput.optional().meta({ description: "their last name", takes: "name" }),
    email: textInput.optional().meta({ description: "their email, as they write it" }),
    phone: textInput.optional().meta({ description: "their phone number, as they write it" }),
    message: textInput.optional().meta({ description: "what they want", takes: "text" }),
    fields: z
      .array(pair)
      .default([])
      .meta({ description: "a field of the form's own", flag: "field", takes: "name=value" }),
  }),
  run: async ({ ports, cause }, { company: named, form, fields, ...known }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const { formId, companyId: owner } = await findFormById(ports, form)
    if (owner !== companyId) throw new OperatorRefused("not_found", `${named} has no form ${form}.`)
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

/** What a form takes in silence, somebody at a command line is told of. */
function rejectReservedFields(names: readonly string[]): void {
  const odd = names.find((name, i) => RESERVED_FIELDS.has(name) || names.indexOf(name) !== i)
  if (odd === undefined) return
  const why = RESERVED_FIELDS.has(odd) ? "is for robots alone" : "is given twice"
  throw new OperatorRefused("validation", `--field ${odd}: the name ${why}.`)
}

const operatorErrorFrom = ({ error, message }: { error: string; message: string }) =>
  new OperatorRefused(error, message)

const list = operation({
  name: "lead list",
  summary: "list a company's leads, the oldest first",
  notes: ["Times are UTC. With --json all that was written is shown."],
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
    // One more than is shown says whether there are more.
    const rows = await listLeads(ports.readAll, companyId, after, limit + 1)
    const leads = rows.slice(0, limit).map(leadReply)
    return { leads, next: rows.length > limit ? (leads.at(-1)?.createdAt ?? null) : null }
  },
  render: ({ leads, next }, page) => {
    const rows = leads.map(({ createdAt, id, firstName, lastName, email, phone, collectedAt }) => {
      return { createdAt, id, firstName, lastName, email, phone, collectedAt }
    })
    const more = next === null ? "" : `There are more: --since ${next}\n`
    return renderTable(rows, page, "leads") + more
  },
})

const erase = operation({
  name: "lead erase",
  summary: "erase what a lead says, for ever",
  notes: ["Its id, its form and its time stay, so that nobody's list loses its place."],
  example: 'lead erase lead_4Zb0x7 --reason "asked for by the person"',
  changes: true,
  irreversible: { field: "leadId", says: "what the lead says is erased, for ever" },
  input: z.object({
    leadId: z.string().meta({ description: "the lead, by id", argument: "LEAD_ID" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { leadId: named }) => {
    await waitForOwnWrites(ports)
    const leadId = parseLeadId(named)
    const companyId = leadId === null ? null : await companyOfLead(ports.readAll, leadId)
    if (leadId === null || companyId === null) {
      throw new OperatorRefused("not_found", `There is no lead ${named}.`)
    }
    requireAccepted(
      await ports.runner.execute(leadsStreamOf(companyId), { type: "EraseLead", leadId }, cause),
    )
    await waitForOwnWrites(ports)
    return { leadId, companyId, status: "erased" }
  },
})

/** Operations on leads. */
export const leadOperations: readonly AdminOperation[] = [add, list, erase]
