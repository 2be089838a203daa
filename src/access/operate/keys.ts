/** API keys, as an operator makes and changes them. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import {
  ALL_OPERATIONS,
  OPERATIONS_WITHOUT_ROUTE,
  isOperation,
} from "../../../domain/access/operations.ts"
import { allowanceOf } from "../../../domain/charging/ledger-views.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import type { PurchaseTerms } from "../../../domain/charging/purchase-events.ts"
import type { CompanyId, KeyId } from "../../../domain/kernel/ids.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import { makeApiKey } from "../../frame/calls/api-key.ts"
import {
  accepted,
  dollars,
  findCompany,
  findCompanyOfKey,
  showWrites,
  words,
} from "../../frame/operator/inputs.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const operationName = z.string().transform((name, context) => {
  if (isOperation(name)) return name
  const reason = OPERATIONS_WITHOUT_ROUTE.includes(name)
    ? "has no route yet and cannot be granted"
    : "is no operation"
  context.addIssue(`${name} ${reason}.`)
  return z.NEVER
})

const create = operation({
  name: "key create",
  input: z.object({
    company: z.string(),
    person: z.string().optional(),
    app: z.boolean().default(false),
    operations: z.array(operationName).default([]),
    allOperations: z.boolean().default(false),
    label: words.optional(),
    addFundsPerPurchase: dollars.optional(),
    addFundsPerMonth: dollars.optional(),
  }),
  run: async ({ ports, cause }, input) => {
    const { sealing, runner } = ports
    if (input.app === (input.person !== undefined)) {
      throw new OperatorRefused("validation", "A key is for one --person or for the --app.")
    }
    const operations = input.allOperations ? ALL_OPERATIONS : input.operations
    if (operations.length === 0) {
      throw new OperatorRefused(
        "validation",
        "Grant at least one --operation, or --all-operations.",
      )
    }
    const { addFundsPerPurchase: perPurchase, addFundsPerMonth: perMonth } = input
    if ((perPurchase === undefined) !== (perMonth === undefined)) {
      const message = "Add funds takes a limit per purchase and one per month."
      throw new OperatorRefused("validation", message)
    }
    const companyId = await findCompany(ports, input.company)
    const { keyId, key, keyHash } = makeApiKey(companyId)
    // First what it may buy: a key never works with less than it was made with.
    if (perPurchase !== undefined && perMonth !== undefined) {
      const terms = {
        mode: "on",
        perPurchaseMicros: perPurchase,
        perMonthMicros: perMonth,
      } as const
      await setPurchaseTerms(ports, companyId, keyId, terms, cause)
    }
    accepted(
      await runner.execute(
        accessOf(companyId),
        {
          type: "CreateKey",
          keyId,
          personId: input.person ?? null,
          keyHash,
          operations,
          label:
            input.label === undefined ? null : await sealing.seal(companyId, keyId, input.label),
        },
        cause,
      ),
    )
    await showWrites(ports)
    const made = { keyId, key, companyId, personId: input.person ?? null }
    return input.app ? { ...made, appSecret: sealing.appSecret(keyId) } : made
  },
})

async function setPurchaseTerms(
  ports: AdminPorts,
  companyId: CompanyId,
  keyId: KeyId,
  terms: PurchaseTerms,
  cause: Cause,
): Promise<void> {
  const command = { type: "SetPurchaseTerms" as const, keyId, ...terms }
  accepted(await ports.runner.execute(ledgerOf(companyId), command, cause))
}

const MODES = { on: "on", off: "off", review: "needs_owner_review" } as const

const changePurchases = operation({
  name: "key change",
  input: z.object({
    keyId: z.string(),
    purchases: z.enum(["on", "off", "review"]).optional(),
    addFundsPerPurchase: dollars.optional(),
    addFundsPerMonth: dollars.optional(),
  }),
  run: async ({ ports, cause }, { keyId, purchases, addFundsPerPurchase, addFundsPerMonth }) => {
    const companyId = await findCompanyOfKey(ports, keyId)
    const view = (state: Ledger, at: number) => allowanceOf(state, keyId, at)
    const former = await ports.runner.lookAtTail(ledgerOf(companyId), view)
    const perPurchaseMicros = addFundsPerPurchase ?? former?.perPurchaseMicros
    const perMonthMicros = addFundsPerMonth ?? former?.perMonthMicros
    if (perPurchaseMicros === undefined || perMonthMicros === undefined) {
      const message =
        "This key never had Add funds: say --add-funds-per-purchase and --add-funds-per-month too."
      throw new OperatorRefused("validation", message)
    }
    const mode = purchases === undefined ? (former?.mode ?? "on") : MODES[purchases]
    const terms = { mode, perPurchaseMicros, perMonthMicros }
    await setPurchaseTerms(ports, companyId, keyId, terms, cause)
    await showWrites(ports)
    return { keyId, companyId, purchases: mode, perPurchaseMicros, perMonthMicros }
  },
})

const change = (
  name: "key pause" | "key resume" | "key delete",
  type: "PauseKey" | "ResumeKey" | "DeleteKey",
  status: "paused" | "active" | "deleted",
) =>
  operation({
    name,
    input: z.object({ keyId: z.string() }),
    run: async ({ ports, cause }, { keyId }) => {
      const companyId = await findCompanyOfKey(ports, keyId)
      const stream = accessOf(companyId)
      const command = { type, keyId }
      accepted(await ports.runner.execute(stream, command, cause))
      await showWrites(ports)
      return { keyId, companyId, status }
    },
  })

const list = operation({
  name: "key list",
  input: z.object({ company: z.string() }),
  run: async ({ ports }, { company }) => {
    const companyId = await findCompany(ports, company)
    await showWrites(ports)
    const rows = await listKeys(ports.readAll, companyId)
    return {
      keys: rows.map((row) => ({
        keyId: row.key_id,
        personId: row.person_id,
        label: row.label,
        status: row.status,
        operations: row.operations,
        createdAt: row.created_at.toISOString(),
      })),
    }
  },
})

/** Operations on keys. */
export const keyOperations: readonly AdminOperation[] = [
  create,
  changePurchases,
  change("key pause", "PauseKey", "paused"),
  change("key resume", "ResumeKey", "active"),
  change("key delete", "DeleteKey", "deleted"),
  list,
]
