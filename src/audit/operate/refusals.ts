/** Operations on refusals: list them, and ask whether a charge would be refused. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { findKey } from "../../../domain/access/access.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import { itemByName } from "../../../domain/charging/items.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseKeyId } from "../../../domain/kernel/ids.ts"
import { listRefusals } from "../../../projections/charging/refusals.ts"
import { answerWhatIf, NoSuchPosition } from "../what-if.ts"
import { toRefusalView } from "../refusal-view.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"
import {
  companyInput,
  findCompany,
  requireKeyId,
  listLimitInput,
  keyNotFound,
  renderList,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { inputForOwnKey, operation, OperatorRefused } from "../../frame/operator/operation.ts"

const textOption = z.string().meta({ form: "text" })

const list = operation({
  name: "refusals list",
  summary: "list refused charges, newest first, with the limit that stopped each",
  notes: [
    "The first refusal of a key, limit and period is stored in full; similar ones are counted in its times.",
  ],
  example: "refusals list --company acme --key key_2Wk9aQzT",
  input: z.object({
    company: companyInput,
    key: textOption.optional().meta({ description: "only refusals of this key, by id" }),
    before: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "only refusals before this revision" }),
    limit: listLimitInput,
  }),
  consoleAccess: { permission: "See billing", ownInput: inputForOwnKey },
  run: async ({ ports }, { company: named, key, before, limit }) => {
    const companyId = await findCompany(ports, named)
    await ports.flush()
    await waitForOwnWrites(ports)
    const keyId = key === undefined ? null : parseKeyId(key)
    // An unknown key has no refusals.
    if (key !== undefined && keyId === null) return { refusals: [], next: null }
    const query = { companyId, keyId, before: before ?? null, limit: limit + 1 }
    const rows = await listRefusals(ports.readAll, query)
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? (shown.at(-1)?.revision ?? null) : null
    return { refusals: shown.map(toRefusalView), next }
  },
  render: ({ refusals, next }, page) => {
    const rows = refusals.map(
      ({ at, code, chargeId, item, amountMicros, keyId, limit, times, revision }) => ({
        revision,
        at,
        code,
        chargeId,
        item,
        amountMicros,
        keyId,
        limit: limit === null ? null : `${limit.holder} a ${limit.period}`,
        resetsAt: limit?.resetsAt,
        times,
      }),
    )
    return renderList(rows, next, page, "refusals")
  },
})

const whatIfOperation = operation({
  name: "ask",
  summary: "ask whether a charge would be accepted; nothing is charged or stored",
  notes: [
    "Shows whether it fits, which limit stops it, and when it would fit if nothing else were spent.",
    "Without a key the company is the spender. The exit code is 0 for either answer.",
    "POSITION is a Ledger-Position, or revision:N of the ledger: the charge is decided right after it.",
  ],
  example: "ask --company acme --key key_2Wk9aQzT --item text --quantity 3",
  input: z.object({
    company: companyInput,
    key: textOption.optional().meta({ description: "the key that would spend, by id" }),
    item: textOption.meta({ description: "the item, by its name in the price book" }),
    quantity: z.int().positive().meta({ description: "the quantity" }),
    at: textOption
      .optional()
      .meta({ description: "an earlier position; default now", takes: "position" }),
  }),
  consoleAccess: { permission: "See billing", ownInput: inputForOwnKey },
  run: async ({ ports }, { key, quantity, at = null, ...input }) => {
    const companyId = await findCompany(ports, input.company)
    const item = itemByName(input.item)
    if (item === null) {
      const message = `"${input.item}" is not in the price book. Run "price list" to see its items.`
      throw new OperatorRefused("validation", message)
    }
    const spender = await spenderOf(ports, companyId, key)
    try {
      return await answerWhatIf(ports, { companyId, spender, item, quantity, at })
    } catch (error) {
      if (!(error instanceof NoSuchPosition)) throw error
      throw new OperatorRefused("validation", error.message)
    }
  },
  render: ({ fits, limit, ...others }) => {
    const verdict = fits ? "It fits" : "It does not fit"
    const stop =
      limit === null ? "" : `The limit that stops it:\n${renderFields(Object.entries(limit))}`
    return `${verdict}.\n${renderFields(Object.entries(others))}${stop}`
  },
})

/**
 * Finds the spender of a key; without a key, the company.
 *
 * @throws OperatorRefused for an unknown key
 */
async function spenderOf(
  { runner }: Pick<AdminPorts, "runner">,
  companyId: CompanyId,
  named: string | undefined,
): Promise<Spender> {
  if (named === undefined) return { via: "company", keyId: null, personId: null }
  const keyId = requireKeyId(named)
  const key = await runner.readLatest(accessStreamOf(companyId), (state) => findKey(state, keyId))
  if (key === null) throw keyNotFound(named)
  const { personId } = key
  return personId === null
    ? { via: "app_key", keyId, personId: null }
    : { via: "own_key", keyId, personId }
}

export const refusalOperations: readonly AdminOperation[] = [list, whatIfOperation]
