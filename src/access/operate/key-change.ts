/** Changing a key: what it may do, and what it may buy funds for. */
import { z } from "zod"
import { findKey } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { Operation } from "../../../domain/access/permissions.ts"
import { ALL_OPERATIONS } from "../../../domain/access/permissions.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { LedgerState } from "../../../domain/charging/ledger-state.ts"
import { purchaseAllowanceOf } from "../../../domain/charging/ledger-views.ts"
import type { PurchaseTerms } from "../../../domain/charging/purchase-events.ts"
import type { CompanyId, KeyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import {
  requireAccepted,
  dollarsInput,
  DOLLARS_NOTE,
  findCompanyOfKey,
  waitForOwnWrites,
  withCrossFieldCheck,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminPorts } from "../../frame/operator/operation.ts"
import {
  isOwnKey,
  OWNER_OR_ADMIN,
  operation,
  OperatorRefused,
} from "../../frame/operator/operation.ts"
import { ownKeyDenial } from "./team-change-rules.ts"
import { operationNames } from "./operation-names.ts"

/** Which key, by the word behind the command. */
export const keyIdArgument = z.string().meta({ description: "the key, by id", argument: "KEY_ID" })

/** Says what a key may buy. @throws OperatorRefused */
export async function setPurchaseTerms(
  ports: Pick<AdminPorts, "runner">,
  companyId: CompanyId,
  keyId: KeyId,
  terms: PurchaseTerms,
  cause: Cause,
): Promise<void> {
  const command = { type: "SetPurchaseTerms" as const, keyId, ...terms }
  requireAccepted(await ports.runner.execute(ledgerStreamOf(companyId), command, cause))
}

const PURCHASE_MODES = { on: "on", off: "off", review: "needs_owner_review" } as const

const KeyChange = z.object({
  keyId: keyIdArgument,
  operations: operationNames
    .optional()
    .meta({ description: "all that it may use, instead of those before", flag: "operation" }),
  allOperations: z.boolean().default(false).meta({ description: "it may use every operation" }),
  purchases: z
    .enum(["on", "off", "review"])
    .optional()
    .meta({ description: "whether it may add funds", takes: "mode" }),
  addFundsPerPurchase: dollarsInput.optional().meta({ description: "so much at a time" }),
  addFundsPerMonth: dollarsInput.optional().meta({ description: "so much in a month" }),
})

type KeyChangeInput = z.output<typeof KeyChange>

function changesPurchases({
  purchases,
  addFundsPerPurchase,
  addFundsPerMonth,
}: KeyChangeInput): boolean {
  return [purchases, addFundsPerPurchase, addFundsPerMonth].some((word) => word !== undefined)
}

function changeFault(input: KeyChangeInput): string | null {
  const { operations, allOperations } = input
  if (operations !== undefined && allOperations) {
    return "name what the key may do with --operation, or give --all-operations, not both"
  }
  return operations === undefined && !allOperations && !changesPurchases(input)
    ? "say what to change: --operation, --all-operations, --purchases, --add-funds-per-purchase " +
        "or --add-funds-per-month"
    : null
}

/** The operation `key change`. */
export const changeKey = operation({
  name: "key change",
  summary: "change what a key may do, and what it may buy funds for",
  notes: [
    "--operation names all that the key may use: what it might use before and is not named ends.",
    "review: every purchase waits for an owner.",
    DOLLARS_NOTE,
  ],
  example: "key change key_4Zb0x7 --operation phone.messages.send phone.messages.read",
  changes: true,
  input: withCrossFieldCheck(KeyChange, changeFault),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    ownInput: async (asking) =>
      (await isOwnKey(asking, asking.input.keyId)) ? asking.input : null,
    denialReason: ({ input, person }) => {
      const asked = input.allOperations ? ALL_OPERATIONS : (input.operations ?? [])
      return ownKeyDenial(person, { operations: asked, canAddFunds: changesPurchases(input) })
    },
  },
  run: async (context, input) => {
    const { ports } = context
    const { companyId, keyId } = await findCompanyOfKey(ports, input.keyId)
    // First the money, which may be refused: then nothing has changed.
    const purchases = changesPurchases(input)
      ? await changePurchases(context, companyId, keyId, input)
      : {}
    const named = input.allOperations ? ALL_OPERATIONS : input.operations
    const operations =
      named === undefined ? {} : await changeOperations(context, companyId, keyId, named)
    await waitForOwnWrites(ports)
    return { keyId, companyId, ...operations, ...purchases }
  },
})

/** Lets a key use these operations alone; tells which it gained and lost. @throws OperatorRefused */
async function changeOperations(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  keyId: KeyId,
  operations: readonly Operation[],
) {
  const stream = accessStreamOf(companyId)
  const before = await ports.runner.readLatest(stream, (state) => findKey(state, keyId)?.operations)
  const command = { type: "ChangeKeyOperations" as const, keyId, operations }
  requireAccepted(await ports.runner.execute(stream, command, cause))
  const former = before ?? new Set()
  const added = operations.filter((one) => !former.has(one))
  const removed = [...former].filter((one) => !operations.some((other) => other === one))
  return { operations, added, removed }
}

/** Changes what a key may buy; what is not named stays. @throws OperatorRefused */
async function changePurchases(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  keyId: KeyId,
  { purchases, addFundsPerPurchase, addFundsPerMonth }: KeyChangeInput,
) {
  const view = (state: LedgerState, at: number) => purchaseAllowanceOf(state, keyId, at)
  const former = await ports.runner.readLatest(ledgerStreamOf(companyId), view)
  const perPurchaseMicros = addFundsPerPurchase ?? former?.perPurchaseMicros
  const perMonthMicros = addFundsPerMonth ?? former?.perMonthMicros
  if (perPurchaseMicros === undefined || perMonthMicros === undefined) {
    const message =
      "This key never had Add funds: say --add-funds-per-purchase and --add-funds-per-month too."
    throw new OperatorRefused("validation", message)
  }
  const mode = purchases === undefined ? (former?.mode ?? "on") : PURCHASE_MODES[purchases]
  const terms = { mode, perPurchaseMicros, perMonthMicros }
  await setPurchaseTerms(ports, companyId, keyId, terms, cause)
  return { purchases: mode, perPurchaseMicros, perMonthMicros }
}
