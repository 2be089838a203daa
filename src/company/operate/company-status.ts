/** Operations that lock, delete and restore a company. */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { deleteCompany, restoreCompany } from "../reactions/company-deletion.ts"
import { companyArgument, findCompany, waitForOwnWrites } from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

async function setLock(
  { ports, cause }: AdminContext,
  company: string,
  type: "LockAccount" | "UnlockAccount",
) {
  const companyId = await findCompany(ports, company)
  await ports.runner.execute(ledgerStreamOf(companyId), { type }, cause)
  return { companyId, locked: type === "LockAccount" }
}

const lock = operation({
  name: "company lock",
  summary: "lock a company's account: its keys can spend nothing until it is unlocked",
  example: 'company lock acme --reason "asked for by its owner"',
  changes: true,
  input: z.object({ company: companyArgument }),
  run: (context, { company }) => setLock(context, company, "LockAccount"),
})

const unlock = operation({
  name: "company unlock",
  summary: "unlock a company's account",
  example: "company unlock acme",
  changes: true,
  input: z.object({ company: companyArgument }),
  run: (context, { company }) => setLock(context, company, "UnlockAccount"),
})

const remove = operation({
  name: "company delete",
  summary: "delete a company: its keys stop working immediately, its data is erased after 14 days",
  notes: [
    'Until then "company restore" undoes it.',
    "Erased data cannot be recovered; amounts, times and hashes remain and still verify.",
    "corruptStreams: the company's corrupt streams. The company is deleted and erased without them.",
  ],
  example: 'company delete acme --reason "asked for by its owner"',
  changes: true,
  irreversible: {
    field: "company",
    says:
      "its keys stop working immediately, and its data is erased after 14 days; " +
      'until then "company restore" undoes it',
  },
  input: z.object({ company: companyArgument }),
  consoleAccess: { roles: ["owner"] },
  run: async ({ ports, cause }, { company }) => {
    const companyId = await findCompany(ports, company)
    const deleted = await deleteCompany(ports, companyId, cause)
    const { erasedFrom, keysSwitchedOff, corruptStreams } = deleted
    const deleteDataAfter = new Date(erasedFrom).toISOString()
    return { companyId, deleteDataAfter, keysSwitchedOff, corruptStreams }
  },
})

const restore = operation({
  name: "company restore",
  summary: "undo the deletion of a company within 14 days",
  notes: ["Keys that the deletion switched off work again; keys paused before stay paused."],
  example: "company restore acme",
  changes: true,
  input: z.object({ company: companyArgument }),
  consoleAccess: { roles: ["owner"], isAllowedWhileDeleted: true },
  run: async ({ ports, cause }, { company }) => {
    const companyId = await findCompany(ports, company)
    const refused = await restoreCompany(ports, companyId, cause)
    if (refused !== null) {
      const message = "message" in refused ? refused.message : refused.code
      throw new OperatorRefused(refused.code, message)
    }
    await waitForOwnWrites(ports)
    return { companyId, restored: true }
  },
})

/** Operations that lock, delete and restore a company. */
export const companyStatusOperations: readonly AdminOperation[] = [lock, unlock, remove, restore]
