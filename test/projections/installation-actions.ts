/** Random actions of people, operators and external systems in an installation. */
import fc from "fast-check"
import { sql } from "kysely"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { MESSAGES_PATH } from "../phone/text-requests.ts"
import type { Company, World } from "../support/world.ts"
import { executeStep } from "./ledger-requests.ts"
import { type LedgerStep, actionArbitrary, ledgerStep } from "./ledger-steps.ts"
import { performAccessAction, accessAction } from "./access-actions.ts"

export const RECIPIENTS = ["+14155550123", "+14155550124", "+14155550125"]
const to = fc.constantFrom(...RECIPIENTS)
const body = fc.constantFrom("STOP", "start", "HELP", "hello \u0000 \u{1F600}")
const outcome = fc.constantFrom("ok", "reject", "silent", "undelivered")
const period = fc.constantFrom("day", "week", "month")
const duration = fc.constantFrom("1m", "12h", "1d", "7d")

/**
 * Makes a charge id unique to the company, because a pending charge is settled by its id alone.
 */
function withCompanyChargeId(one: LedgerStep, company: string): LedgerStep {
  if (one.does !== "command" || one.command.type !== "Charge") return one
  const { command } = one
  return { ...one, command: { ...command, chargeId: `${command.chargeId}_${company}` } }
}

/** Every action, through the API and the operator API. */
export const installationAction = fc.oneof(
  { weight: 6, arbitrary: actionArbitrary("send", { to }) },
  { weight: 3, arbitrary: actionArbitrary("text in", { to, body }) },
  {
    weight: 2,
    arbitrary: actionArbitrary("opt out", { to, method: fc.constantFrom("POST", "DELETE") }),
  },
  { weight: 2, arbitrary: actionArbitrary("carrier", { outcome }) },
  {
    weight: 2,
    arbitrary: actionArbitrary("limit", { period, dollars: fc.constantFrom("0.018", "1") }),
  },
  { weight: 2, arbitrary: actionArbitrary("advance", { duration }) },
  { weight: 6, arbitrary: actionArbitrary("ask", { step: ledgerStep }) },
  { weight: 6, arbitrary: accessAction },
  { weight: 1, arbitrary: actionArbitrary("funds", {}) },
  { weight: 1, arbitrary: actionArbitrary("wait", {}) },
)
type InstallationAction = typeof installationAction extends fc.Arbitrary<infer D> ? D : never

/** Ignores the rejection of an operator's request after the history has closed the ledger. */
async function unlessClosed(operation: Promise<unknown>): Promise<void> {
  await operation.catch((error: unknown) => {
    if (!(error instanceof OperatorRefused) || error.code !== "ledger_closed") throw error
  })
}

/** Performs an action for a company. */
export async function performAction(
  world: World,
  one: InstallationAction,
  acting: Company,
): Promise<void> {
  const { key, keyId, companyId } = acting
  const company = companyId
  switch (one.does) {
    case "send":
      await world.call(key, "POST", MESSAGES_PATH, { body: { to: one.to, body: "Hi" } })
      return
    case "text in": {
      const { rows } = await sql<{ number: string }>`
        select number from numbers where company_id = ${company}`.execute(world.ports.readAll)
      const text = { from: one.to, to: rows[0]?.number, body: one.body }
      await world.operate("carrier text-in", text)
      return
    }
    case "opt out":
      await world.call(key, one.method, "/api/v1/phone/opt-outs", { body: { phone: one.to } })
      return
    case "carrier":
      await world.operate("simulator set", { name: "carrier", outcome: one.outcome })
      return
    case "limit":
      await unlessClosed(
        world.operate("limit set", { company, key: keyId, ...one, does: undefined }),
      )
      return
    case "advance":
      await world.operate("clock advance", { duration: one.duration })
      return
    case "ask":
      return executeStep(world, acting, withCompanyChargeId(one.step, company))
    case "live":
      return performAccessAction(world, acting, one)
    case "funds":
      await unlessClosed(world.operate("funds add", { company, dollars: "0.01" }))
      return
    case "wait":
      await world.operate("wait")
  }
}
