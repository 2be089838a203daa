/** The noes: those that were, and whether there would be one. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { findKey } from "../../../domain/access/access.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import { PRICED_ITEMS } from "../../../domain/charging/price-book.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listRefusals } from "../../../projections/charging/refusals.ts"
import { NoSuchPlace, ask, itemNamed } from "../ask.ts"
import { shownRefusal } from "../refusal-shown.ts"
import { findCompany, showWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const MOST_LISTED = 1_000

const list = operation({
  name: "refusals list",
  input: z.object({
    company: z.string(),
    key: z.string().optional(),
    before: z.int().nonnegative().optional(),
    limit: z.int().positive().max(MOST_LISTED).default(MOST_LISTED),
  }),
  run: async ({ ports }, { company, key, before, limit }) => {
    const companyId = await findCompany(ports, company)
    await ports.settle()
    await showWrites(ports)
    const asked = { companyId, keyId: key ?? null, before: before ?? null, limit: limit + 1 }
    const rows = await listRefusals(ports.readAll, asked)
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? (shown.at(-1)?.revision ?? null) : null
    return { refusals: shown.map(shownRefusal), next }
  },
})

const whatIf = operation({
  name: "ask",
  input: z.object({
    company: z.string(),
    key: z.string().optional(),
    item: z.string(),
    quantity: z.int().positive(),
    at: z.string().optional(),
  }),
  run: async ({ ports }, { company, key, item: named, quantity, at = null }) => {
    const companyId = await findCompany(ports, company)
    const item = itemNamed(named)
    if (item === null) {
      const message = `"${named}" has no price; items are ${PRICED_ITEMS.join(", ")}.`
      throw new OperatorRefused("validation", message)
    }
    const spender = await spenderOf(ports, companyId, key)
    try {
      return await ask(ports, { companyId, spender, item, quantity, at })
    } catch (error) {
      if (!(error instanceof NoSuchPlace)) throw error
      throw new OperatorRefused("validation", error.message)
    }
  },
})

/** Whoever spends by this key; the company where none is named. @throws OperatorRefused */
async function spenderOf(
  { runner }: AdminPorts,
  companyId: CompanyId,
  keyId: string | undefined,
): Promise<Spender> {
  if (keyId === undefined) return { via: "company", keyId: null, personId: null }
  const key = await runner.lookAtTail(accessOf(companyId), (state) => findKey(state, keyId))
  if (key === null) throw new OperatorRefused("not_found", `There is no key ${keyId}.`)
  const { personId } = key
  return personId === null
    ? { via: "shared_key", keyId, personId: null }
    : { via: "own_key", keyId, personId }
}

/** Operations on refusals. */
export const refusalOperations: readonly AdminOperation[] = [list, whatIf]
