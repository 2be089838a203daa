/** Forms that take leads. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { leadsOf } from "../../domain/leads/aggregates.ts"
import type { FormId } from "../../domain/leads/lead-events.ts"
import { parseFormId } from "../../domain/leads/lead-events.ts"
import { faultOf } from "../../domain/leads/leads.ts"
import { findForm } from "../../projections/leads/forms.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Ports } from "../frame/ports.ts"

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
