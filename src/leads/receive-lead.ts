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

/** Records a lead; an equal one from the same address within a minute is the same lead. */
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
  // The stream's time never goes back, so a minute's ids cannot repeat.
  const now = await runner.read(stream, (_state, at) => at)
  const minute = Math.floor(now / MINUTE_MS)
  const idIn = (which: number) => leadIdOf(ports, companyId, [formId, text, address, which])
  const [leadId, formerId] = await Promise.all([idIn(minute), idIn(minute - 1)])
  // Checked before a key is made, so that rejected leads leave none, except for concurrent ones.
  const check = await runner.read(stream, (state, at) => ({
    same: findDuplicateLead(state, leadId, formerId, at),
    code: leadRefusalCode(state, formId, at, isLimited),
  }))
  if (check.same !== null && check.code !== "no_form") return { leadId: check.same }
  if (check.code !== null) return { refusal: leadRefusalOf(check.code) }
  const content = await sealing.seal(companyId, leadId, text)
  const named = { type: "ReceiveLead" as const, leadId, formerId, formId, isLimited }
  const command = { ...named, content, ...consents }
  const view = (state: LeadsState, at: number) => findDuplicateLead(state, leadId, formerId, at)
  const outcome = await runner.execute(stream, command, cause, view)
  if (!outcome.accepted) return { refusal: leadRefusalOf(outcome.refusal.code) }
  return { leadId: outcome.view ?? leadId }
}

/** Derives the id of a lead from its content; without the company's key the id reveals nothing. */
async function leadIdOf(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  parts: readonly (string | number)[],
): Promise<LeadId> {
  for (let attempt = 0; ; attempt += 1) {
    // An erased lead keeps its id, so equal content later is another lead.
    const input = attempt === 0 ? parts : [...parts, attempt]
    const leadId: LeadId = `lead_${await sealing.tag(companyId, JSON.stringify(input))}`
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
        `This form has reached its limit of ${MAX_LEADS_PER_DAY.toLocaleString("en-US")} leads a day. Try again tomorrow.`,
      )
    case "too_many_uncollected":
      return refusal("unavailable", "Too many leads are waiting to be collected. Try again later.")
  }
}

export interface LeadForm {
  readonly companyId: CompanyId
  readonly formId: FormId
  readonly name: string
  readonly hostnames: readonly string[]
  readonly refuseLinks: boolean
}

/** Finds an open form; null if it does not exist, is closed, or its company is deleted. */
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

/** The refusal for every form that accepts no leads, whatever the reason. */
export function formNotFound(): Refusal {
  return refusal("not_found", "This form does not exist or is closed.")
}
