/** Checks after a load: every acknowledged text has one charge, and the audit holds. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { LoadCompany, LoadServer } from "./load-server.ts"

export interface LoadCheck {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

type Audit = { readonly checks: readonly { name: string; ok: boolean; detail?: string }[] }
type Page = { readonly events: readonly { data: { resource?: string } }[]; next: number | null }

/**
 * Compares the answers to callers with the charges in the companies' ledgers, and lets the server audit each company.
 *
 * @param acknowledged the ids of all acknowledged texts
 * @throws LoadError if the server refuses
 */
export async function checkLoad(
  server: Pick<LoadServer, "operate">,
  companies: readonly Pick<LoadCompany, "companyId">[],
  acknowledged: ReadonlySet<string>,
): Promise<readonly LoadCheck[]> {
  await server.operate("wait", {})
  const charged = new Map<string, number>()
  for (const { companyId } of companies) await countCharged(server, companyId, charged)
  const lost = [...acknowledged].filter((id) => !charged.has(id))
  const twice = [...charged].filter(([, times]) => times > 1).map(([id]) => id)
  const unknown = [...charged.keys()].filter((id) => !acknowledged.has(id))
  const audits: Audit["checks"][number][] = []
  for (const { companyId: company } of companies) {
    const { checks } = (await server.operate("audit verify", { company })) as Audit
    audits.push(...checks)
  }
  return [
    checkResult("every acknowledged text was charged", lost, acknowledged.size),
    checkResult("no text was charged twice", twice, charged.size),
    checkResult("every charged text was acknowledged to a caller", unknown, charged.size),
    ...worstOf(audits).map(({ name, ok, detail = "" }) => ({
      name: `audit: ${name}`,
      ok,
      detail,
    })),
  ]
}

/** The first failure of each check, or its result for the last company. */
function worstOf(checks: Audit["checks"]): Audit["checks"] {
  const worst = new Map<string, Audit["checks"][number]>()
  for (const check of checks) if (worst.get(check.name)?.ok !== false) worst.set(check.name, check)
  return [...worst.values()]
}

/** Counts how often each text was charged, from the ledger's facts. */
async function countCharged(
  { operate }: Pick<LoadServer, "operate">,
  company: CompanyId,
  charged: Map<string, number>,
): Promise<void> {
  for (let from: number | null = 0; from !== null;) {
    const asked = { stream: ledgerStreamOf(company).stream, type: "Charged", from }
    const page = (await operate("audit show", asked)) as Page
    for (const { data } of page.events) {
      const id = parseTextResource(data.resource ?? "")?.messageId
      if (id !== undefined) charged.set(id, (charged.get(id) ?? 0) + 1)
    }
    from = page.next
  }
}

function checkResult(name: string, others: readonly string[], of: number): LoadCheck {
  const some = others.slice(0, 3).join(", ")
  const detail = others.length === 0 ? `${of} texts` : `${others.length} of ${of}: ${some}`
  return { name, ok: others.length === 0, detail }
}
