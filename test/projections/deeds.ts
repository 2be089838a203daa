/** What can happen in an installation, as its people, its operators and the outside do it. */
import fc from "fast-check"
import { sql } from "kysely"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { TEXTS } from "../phone/texting.ts"
import type { Company, World } from "../support/world.ts"
import { askStep } from "./asking.ts"
import { type Step, doing, step } from "./ledger-steps.ts"
import { live, living } from "./living.ts"

/** Whom texts are sent to. */
export const RECIPIENTS = ["+14155550123", "+14155550124", "+14155550125"]
const to = fc.constantFrom(...RECIPIENTS)
const said = fc.constantFrom("STOP", "start", "HELP", "hello \u0000 \u{1F600}")
const outcome = fc.constantFrom("ok", "reject", "silent", "undelivered")
const period = fc.constantFrom("day", "week", "month")
const duration = fc.constantFrom("1m", "12h", "1d", "7d")

/**
 * The same step with a name that no other company's charge has: an open one is ended by its name alone,
 * for outside of tests it is a random one of ours.
 */
function ofCompany(one: Step, company: string): Step {
  if (one.does !== "command" || one.command.type !== "Charge") return one
  const { command } = one
  return { ...one, command: { ...command, chargeId: `${command.chargeId}_${company}` } }
}

/** Everything that can happen in an installation, through its own doors. */
export const deed = fc.oneof(
  { weight: 6, arbitrary: doing("send", { to }) },
  { weight: 3, arbitrary: doing("text in", { to, body: said }) },
  { weight: 2, arbitrary: doing("opt out", { to, method: fc.constantFrom("POST", "DELETE") }) },
  { weight: 2, arbitrary: doing("carrier", { outcome }) },
  { weight: 2, arbitrary: doing("limit", { period, dollars: fc.constantFrom("0.018", "1") }) },
  { weight: 2, arbitrary: doing("advance", { duration }) },
  { weight: 6, arbitrary: doing("ask", { step }) },
  { weight: 6, arbitrary: living },
  { weight: 1, arbitrary: doing("funds", {}) },
  { weight: 1, arbitrary: doing("wait", {}) },
)
type Deed = typeof deed extends fc.Arbitrary<infer D> ? D : never

/** A history may close the ledger; what an operator asks of it after that is refused, and no more. */
async function unlessClosed(asked: Promise<unknown>): Promise<void> {
  await asked.catch((error: unknown) => {
    if (!(error instanceof OperatorRefused) || error.code !== "ledger_closed") throw error
  })
}

/** Does one of them, for a company. */
export async function perform(world: World, one: Deed, acting: Company): Promise<void> {
  const { key, keyId, companyId } = acting
  const company = companyId
  switch (one.does) {
    case "send":
      await world.call(key, "POST", TEXTS, { body: { to: one.to, body: "Hi" } })
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
      return askStep(world, acting, ofCompany(one.step, company))
    case "live":
      return live(world, acting, one)
    case "funds":
      await unlessClosed(world.operate("funds add", { company, dollars: "0.01" }))
      return
    case "wait":
      await world.operate("wait")
  }
}
