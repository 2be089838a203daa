/** Taking a lead in, whoever brings it. */
import { leadsOf } from "../../domain/leads/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { LeadId, FormId } from "../../domain/leads/lead-events.ts"
import { parseFormId } from "../../domain/leads/lead-events.ts"
import type { LeadRefused, Leads } from "../../domain/leads/leads.ts"
import { MOST_A_DAY, MOST_A_MINUTE, faultOf, isErased, sameLead } from "../../domain/leads/leads.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { rateLimited, rateSettings } from "../frame/routes/checks/rate-limits.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { Content } from "./content.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import { findForm } from "../../projections/leads/forms.ts"

const MINUTE_MS = 60_000

/** Takes a lead in; where the same came from the same address within a minute, it is that one. */
export async function receiveLead(
  ports: Pick<Ports, "runner" | "sealing" | "settings">,
  { companyId, formId }: Pick<OpenForm, "companyId" | "formId">,
  { text, ...consents }: Content,
  address: string,
  cause: Cause,
): Promise<{ readonly leadId: LeadId } | { readonly refusal: Refusal }> {
  const { runner, sealing } = ports
  const stream = leadsOf(companyId)
  const isLimited = ports.settings(rateSettings).RATE_LIMITS === "on"
  // By the stream's own time, which never goes back: so no name of a minute comes again.
  const now = await runner.read(stream, (_state, at) => at)
  const minute = Math.floor(now / MINUTE_MS)
  const nameIn = (which: number) => nameOf(ports, companyId, [formId, text, address, which])
  const [leadId, formerId] = await Promise.all([nameIn(minute), nameIn(minute - 1)])
  // Looked at before a key is made for it: what is turned away leaves none, but for those that were
  // decided at the same time.
  const before = await runner.read(stream, (state, at) => ({
    same: sameLead(state, leadId, formerId, at),
    code: faultOf(state, formId, at, isLimited),
  }))
  if (before.same !== null && before.code !== "no_form") return { leadId: before.same }
  if (before.code !== null) return { refusal: refusalOf(before.code) }
  const content = await sealing.seal(companyId, leadId, text)
  const named = { type: "ReceiveLead" as const, leadId, formerId, formId, isLimited }
  const command = { ...named, content, ...consents }
  const view = (state: Leads, at: number) => sameLead(state, leadId, formerId, at)
  const outcome = await runner.execute(stream, command, cause, view)
  if (!outcome.accepted) return { refusal: refusalOf(outcome.refusal.code) }
  return { leadId: outcome.view ?? leadId }
}

/** The id of a lead; without the company's key it says nothing of what it is made of. */
async function nameOf(
  { runner, sealing }: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  made: readonly (string | number)[],
): Promise<LeadId> {
  for (let again = 0; ; again += 1) {
    // The name of one that was erased stays its own: the same once more is another lead.
    const of = again === 0 ? made : [...made, again]
    const leadId: LeadId = `lead_${await sealing.tag(companyId, JSON.stringify(of))}`
    if (!(await runner.read(leadsOf(companyId), (state) => isErased(state, leadId)))) return leadId
  }
}

function refusalOf(code: LeadRefused["code"]): Refusal {
  switch (code) {
    case "no_form":
      return noForm()
    case "minute_full":
      return rateLimited({ most: MOST_A_MINUTE, calls: "leads by this form" })
    case "day_full":
      return refusal("rate_limited", `More than ${MOST_A_DAY} leads by this form on one day.`)
    case "too_many_uncollected":
      return refusal("unavailable", "Too many leads wait to be collected. Send it again later.")
  }
}

/** A form that takes leads. */
export interface OpenForm {
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
): Promise<OpenForm | null> {
  const formId = parseFormId(id)
  const row = formId === null ? null : await findForm(ports.readAll, formId)
  if (formId === null || row === null || row.name === null) return null
  const companyId = row.company_id
  const isOpen = await ports.runner.read(
    leadsOf(companyId),
    (state, at) => faultOf(state, formId, at, false) !== "no_form",
  )
  if (!isOpen || (await ports.runner.read(ledgerOf(companyId), deletionOf)) !== null) return null
  const hostnames = (row.hostnames ?? "").split(" ").filter((name) => name !== "")
  return { companyId, formId, name: row.name, hostnames, refuseLinks: row.refuse_links }
}

/** What is said of every form that takes no leads, whatever it was. */
export function noForm(): Refusal {
  return refusal("not_found", "There is no such form.")
}
