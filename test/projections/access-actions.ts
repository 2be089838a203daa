/** Random actions in a company other than spending: people are added, changed and removed, and apps check in. */
import { appStreamOf } from "../../domain/connection/aggregates.ts"
import fc from "fast-check"
import { APP_COUNT_NAMES, appCountsFrom } from "../../domain/connection/app-events.ts"
import type { CheckIn, ReportDevice } from "../../domain/connection/app.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { actionArbitrary } from "./ledger-steps.ts"
import type { Company, World } from "../support/world.ts"

const INSTALL = "ef".repeat(28)

/** Actions on people, and messages from an app. */
export const accessAction = actionArbitrary("live", {
  kind: fc.constantFrom("add", "change", "move", "app", "remove", "invite", "check in", "report"),
  /** Selects the person, version or sequence number. */
  which: fc.nat(3),
})

export type AccessAction =
  typeof accessAction extends fc.Arbitrary<infer D> ? Omit<D, "does"> : never

/** Performs an action; one that the operator API rejects has no effect. */
export async function performAccessAction(
  world: World,
  { companyId }: Pick<Company, "companyId">,
  { kind, which }: AccessAction,
): Promise<void> {
  const company = companyId
  if (kind === "check in" || kind === "report")
    return checkInOrReport(world, companyId, kind, which)
  const email = `${["ada", "bea", "cyd", "dee"][which]}@example.com`
  if (kind === "add" || kind === "invite") {
    const name = `Person ${which}`
    const input = { company, email, role: "user", ...(kind === "add" ? { name } : {}) }
    return operateUnlessRefused(world, `person ${kind}`, input)
  }
  const { people } = await world.operate("person list", { company })
  const others = people.filter(({ role }: { role: string }) => role !== "owner")
  const personId = others[which % Math.max(1, others.length)]?.personId
  if (personId === undefined) return
  if (kind === "remove") return operateUnlessRefused(world, "person remove", { personId })
  if (kind === "app") {
    return operateUnlessRefused(world, "person app", {
      personId,
      grant: ["Team"],
      deny: ["email.send"],
    })
  }
  const change = kind === "move" ? { email } : { name: `Another ${which}`, role: "manager" }
  return operateUnlessRefused(world, "person change", {
    personId,
    ...change,
    permissions: ["Use phone"],
  })
}

async function operateUnlessRefused(world: World, name: string, input: object): Promise<void> {
  try {
    await world.operate(name, input)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "OperatorRefused") throw error
  }
}

async function checkInOrReport(
  world: World,
  companyId: CompanyId,
  kind: "check in" | "report",
  which: number,
): Promise<void> {
  const version = `2.${which}.0`
  const counts = appCountsFrom(Object.fromEntries(APP_COUNT_NAMES.map((name) => [name, which])))
  const checkIn: CheckIn = {
    type: "CheckIn",
    installId: INSTALL,
    version,
    platform: null,
    coreHash: null,
    counts,
  }
  const report: ReportDevice = {
    type: "ReportDevice",
    installId: INSTALL,
    eventId: `event-${which}`,
    attemptId: "attempt",
    sequence: 4 - which,
    kind: "app",
    version,
    status: "started",
    reason: null,
  }
  const command = kind === "report" ? report : checkIn
  await world.ports.runner.execute(appStreamOf(companyId, INSTALL), command, causedBy("test"))
}

/** Performs each action once. The people who existed before stay. */
export async function performAllAccessActions(
  world: World,
  company: Pick<Company, "companyId">,
): Promise<void> {
  for (const kind of ["add", "change", "move", "app", "remove", "check in", "report"] as const) {
    await performAccessAction(world, company, { kind, which: 0 })
  }
  await performAccessAction(world, company, { kind: "invite", which: 1 })
}
