/** Taking a lead in, whoever brings it. */
import { leadsStreamOf } from "../../domain/leads/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { LeadId, FormId } from "../../domain/leads/lead-events.ts"
import { parseFormId } from "../../domain/leads/lead-events.ts"
import type { LeadRefused, LeadsState } from "../../domain/leads/leads.ts"
import {
  MAX_LEADS_PER_DAY,
  MAX_LEADS_PER_MINUTE,
  leadRefusalCode,
  isLeadErased,
  findDuplicateLead,
} from "../../domain/leads/leads.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { rateLimitRefusal, rateSettings } from "../frame/routes/checks/rate-limits.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { LeadContent } from "./lead-content.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import { findForm } from "../../projections/leads/forms.ts"

const MINUTE_MS = 60_000

/** Takes a lead in; where the same came from the same address within a minute, it is that one. */
export async function receiveLead(
  ports: Pick<Ports, "runner" | "sealing" | "settings">,
  { companyId, formId }: Pick<LeadForm, "companyId" | "formId">,
  { text, ...consents }: LeadContent,
  address: string,
  cause: Cause,
): Promise<{ readonly leadId: LeadId } | { readonly refusal: Refusal }> {
  const { runner, sealing } = ports
  const stream = leadsStreamOf(companyId)
  const isLimited = ports.settings(rateSettings).RATE_LIMITS === "on"
  // By the stream's own time, which never goes back: so no name of a minute comes again.
  const now = await runner.read(stream, (_state, at) => at)
  const minute = Math.floor(now / MINUTE_MS)
  const nameIn = (which: number) => leadIdOf(ports, companyId, [formId, text, address, which])
  const [leadId, formerId] = await Promise.all([nameIn(minute), nameIn(minute - 1)])
  // Looked at before a key is made for it: what is turned away leaves none, but for those that were
  // decided at the same time.
  const before = await runner.read(stream, (state, at) => ({
    same: findDuplicateLead(state, leadId, formerId, at),
    code: leadRefusalCode(state, formId, at, isLimited),
  }))
  if (before.same !== null && before.code !== "no_form") return { leadId: before.same }
  if (before.code !== null) return { refusal: leadRefusalOf(before.code) }
  const content = await sealing.seal(companyId, leadId, text)
  const named = { type: "ReceiveLead" as const, leadId, formerId, formId, isLimited }
  const command = { ...named, content, ...consents }
  const view = (state: LeadsState, at: number) => findDuplicateLead(state, leadId, formerId, at)
  const outcome = await runner.execute(stream, command, cause, view)
  if (!outcome.accepted) return { refusal: leadRefusalOf(outcome.refusal.code) }
  return { leadId: outcome.view ?? leadId }
}

/** The id of a lead; without the company's key it says nothing of what it is made of. */
async function leadIdOf(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  made: readonly (string | number)[],
): Promise<LeadId> {
  for (let again = 0; ; again += 1) {
    // The name of one that was erased stays its own: the same once more is another lead.
    const of = again === 0 ? made : [...made, again]
    const leadId: LeadId = `lead_${await sealing.tag(companyId, JSON.stringify(of))}`
    if (!(await runner.read(leadsStreamOf(companyId), (state) => isLeadErased(state, leadId))))
      return leadId
  }
}

function leadRefusalOf(code: LeadRefused["code"]): Refusal {
  switch (code) {
    case "no_form":
      return formNotFound()
    case "minute_full":
      return rateLimitRefusal({ max: MAX_LEADS_PER_MINUTE, calls: "leads by this form" })
    case "day_full":
      return refusal(
        "rate_limited",
        `More than ${MAX_LEADS_PER_DAY} leads by this form on one day.`,
      )
    case "too_many_uncollected":
      return refusal("unavailable", "Too many leads wait to be collected. Send it again later.")
  }
}

/** A form that takes leads. */
export interface LeadForm {
  readonly companyId: CompanyId
  readonly formId: FormId
  readonly name: string
  readonly hostnames: readonly string[]
  readonly refuseLinks: boolean
}

/** The form of an id; null where there is none, or none any more: it was closed, its company deleted. */
export async function findOpenForm(
  ports: Pick<Ports, "readAll" | "runner">,
  id: string,
): Promise<LeadForm | null> {
  const formId = parseFormId(id)
  const row = formId === null ? null : await findForm(ports.readAll, formId)
  if (formId === null || row === null || row.name === null) return null
  const companyId = row.company_id
  const isOpen = await ports.runner.read(
    leadsStreamOf(companyId),
    (state, at) => leadRefusalCode(state, formId, at, false) !== "no_form",
  )
  if (!isOpen || (await ports.runner.read(ledgerStreamOf(companyId), deletionOf)) !== null)
    return null
  const hostnames = (row.hostnames ?? "").split(" ").filter((name) => name !== "")
  return { companyId, formId, name: row.name, hostnames, refuseLinks: row.refuse_links }
}

/** What is said of every form that takes no leads, whatever it was. */
export function formNotFound(): Refusal {
  return refusal("not_found", "There is no such form.")
}
