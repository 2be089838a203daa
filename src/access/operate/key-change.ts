/** The operation `key change`: a key's operations and purchases. */
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

export const keyIdArgument = z.string().meta({ description: "the key, by id", argument: "KEY_ID" })

/**
 * Sets what a key may buy.
 *
 * @throws OperatorRefused if the terms are rejected
 */
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
  operations: operationNames.optional().meta({
    description: "all operations it may use, replacing the previous ones",
    flag: "operation",
  }),
  allOperations: z.boolean().default(false).meta({ description: "it may use every operation" }),
  purchases: z
    .enum(["on", "off", "review"])
    .optional()
    .meta({ description: "whether it may add funds", takes: "mode" }),
  addFundsPerPurchase: dollarsInput.optional().meta({ description: "maximum of one purchase" }),
  addFundsPerMonth: dollarsInput.optional().meta({ description: "maximum in a month" }),
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
    return "pass the key's operations with --operation, or pass --all-operations, not both"
  }
  return operations === undefined && !allOperations && !changesPurchases(input)
    ? "pass at least one of --operation, --all-operations, --purchases, --add-funds-per-purchase " +
        "or --add-funds-per-month"
    : null
}

/** The operation `key change`. */
export const changeKey = operation({
  name: "key change",
  summary: "change a key's operations, and how much it may add to the funds",
  notes: [
    "--operation replaces the whole list: operations that you leave out are no longer allowed.",
    "review: an owner must approve every purchase.",
    DOLLARS_NOTE,
  ],
  example: "key change key_4Zb0x7 --operation phone.messages.send phone.messages.read",
  changes: true,
  input: withCrossFieldCheck(KeyChange, changeFault),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    ownInput: async (request) =>
      (await isOwnKey(request, request.input.keyId)) ? request.input : null,
    denialReason: ({ input, person }) => {
      const operations = input.allOperations ? ALL_OPERATIONS : (input.operations ?? [])
      return ownKeyDenial(person, { operations, canAddFunds: changesPurchases(input) })
    },
  },
  run: async (context, input) => {
    const { ports } = context
    const { companyId, keyId } = await findCompanyOfKey(ports, input.keyId)
    // The purchase terms come first, because they can be rejected: then nothing has changed.
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

/**
 * Replaces a key's operations; returns those it gained and lost.
 *
 * @throws OperatorRefused if the change is rejected
 */
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

/**
 * Changes what a key may buy; values that are not passed stay.
 *
 * @throws OperatorRefused if the change is rejected
 */
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
      "This key could never add funds: pass --add-funds-per-purchase and --add-funds-per-month too."
    throw new OperatorRefused("validation", message)
  }
  const mode = purchases === undefined ? (former?.mode ?? "on") : PURCHASE_MODES[purchases]
  const terms = { mode, perPurchaseMicros, perMonthMicros }
  await setPurchaseTerms(ports, companyId, keyId, terms, cause)
  return { purchases: mode, perPurchaseMicros, perMonthMicros }
}
