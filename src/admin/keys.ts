/** API keys, as an operator makes and changes them. */
import { z } from "zod"
import { accessStream } from "../../domain/access/access.ts"
import {
  ALL_OPERATIONS,
  OPERATIONS_WITHOUT_ROUTE,
  isOperation,
} from "../../domain/access/operations.ts"
import { listKeys } from "../../projections/keys.ts"
import { ACCESS } from "../aggregates.ts"
import { makeApiKey } from "../api-key.ts"
import { accepted, dollars, findCompany, findCompanyOfKey, showWrites, words } from "./inputs.ts"
import type { AdminOperation } from "./operation.ts"
import { OperatorRefused, operation } from "./operation.ts"

const none = () => undefined

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
    accepted(
      await runner.execute(
        ACCESS,
        accessStream(companyId),
        {
          type: "CreateKey",
          keyId,
          personId: input.person ?? null,
          keyHash,
          operations,
          label:
            input.label === undefined ? null : await sealing.seal(companyId, keyId, input.label),
          purchases:
            perPurchase === undefined || perMonth === undefined
              ? null
              : { mode: "on", perPurchaseMicros: perPurchase, perMonthMicros: perMonth },
        },
        { cause, view: none },
      ),
    )
    await showWrites(ports)
    const made = { keyId, key, companyId, personId: input.person ?? null }
    return input.app ? { ...made, appSecret: sealing.appSecret(keyId) } : made
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
      const stream = accessStream(companyId)
      const command = { type, keyId }
      accepted(await ports.runner.execute(ACCESS, stream, command, { cause, view: none }))
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
  change("key pause", "PauseKey", "paused"),
  change("key resume", "ResumeKey", "active"),
  change("key delete", "DeleteKey", "deleted"),
  list,
]
