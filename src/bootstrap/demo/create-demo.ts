/** Creates the demo company `acme` with a key, so that a new user has something to see and call. */
import { listPeople } from "../../../projections/access/people.ts"
import { COMPANIES_STREAM } from "../../../domain/company/aggregates.ts"
import { companyByNameTag, companyCount } from "../../../domain/company/companies.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { formatMoney } from "../../../domain/kernel/money.ts"
import { companyNameTag, waitForOwnWrites } from "../../frame/operator/inputs.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { runDemoOperation } from "./script-runner.ts"
import { DEMO_COMPANY } from "./script.ts"

const company = DEMO_COMPANY

export interface DemoOptions {
  /** The server's address. */
  readonly url: string
  /** The command that runs the program in a shell. */
  readonly programCommand: string
  /** Whether the company's week of data was just created. */
  readonly isSeeded: boolean
}

/**
 * Creates `acme` if there is no company yet, and a key for it; a seeded `acme` only gets the key. Returns the lines
 * to print, which show the key once.
 */
export async function createDemo(
  ports: AdminPorts,
  options: DemoOptions,
): Promise<readonly string[]> {
  const { programCommand, isSeeded } = options
  const count = await ports.runner.read(COMPANIES_STREAM, companyCount)
  if (count > 0 && !isSeeded) {
    const notice = "  demo         not created: this store already has companies"
    return [notice, ...(await nextKeyLines(ports, programCommand))]
  }
  const ownerId = (isSeeded ? await findDemoOwner(ports) : null) ?? (await createDemoCompany(ports))
  const made = await runDemoOperation<{ keyId: string; key: string }>(ports, "key create", {
    company,
    person: ownerId,
    allOperations: true,
    label: "demo",
    addFundsPerPurchase: "50",
    addFundsPerMonth: "200",
  })
  await runDemoOperation(ports, "limit set", {
    company,
    key: made.keyId,
    period: "day",
    dollars: "5",
  })
  return demoLines(ports, options, ownerId, made)
}

/** Creates the company without spending; returns its owner's id. */
async function createDemoCompany(ports: AdminPorts): Promise<string> {
  const { ownerId } = await runDemoOperation<{ ownerId: string }>(ports, "company create", {
    name: DEMO_COMPANY,
    funds: "50",
    ownerName: "Ada Example",
    ownerEmail: "ada@example.com",
  })
  await runDemoOperation(ports, "card set", { company, verified: true })
  const general = { company, class: "general" }
  await runDemoOperation(ports, "limit set", { ...general, period: "month", dollars: "40" })
  await runDemoOperation(ports, "limit set", {
    ...general,
    person: ownerId,
    period: "week",
    dollars: "20",
  })
  return ownerId
}

async function demoLines(
  ports: AdminPorts,
  { url, programCommand, isSeeded }: DemoOptions,
  ownerId: string,
  { keyId, key }: { readonly keyId: string; readonly key: string },
): Promise<readonly string[]> {
  const signIn = await runDemoOperation<{ url: string }>(ports, "console link", { person: ownerId })
  const shown = await runDemoOperation<{ balanceMicros: Micros }>(ports, "company show", {
    company,
  })
  const past = isSeeded ? "a week of spending, " : ""
  return [
    `  console      ${signIn.url}`,
    `               (signs its owner in once, for ten minutes)`,
    `  company      ${DEMO_COMPANY}: ${past}${formatMoney(shown.balanceMicros)} of funds, limits of $40 a month, $20 a week for its owner, $5 a day for the key`,
    `  key          ${key}`,
    `               (shown only now; create another: ${keyCommand(programCommand, ownerId)})`,
    `  key id       ${keyId}`,
    "",
    "Send a text (the carrier is simulated; nothing leaves this machine):",
    "",
    `curl -s ${url}/api/v1/phone/messages -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' -d '{"to":"+14155550123","body":"Hello from acme"}'`,
    "",
  ]
}

/** Returns the line with the command that creates another demo key; no line if there is no `acme`. */
export async function nextKeyLines(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "sealing" | "store">,
  program: string,
): Promise<readonly string[]> {
  const ownerId = await findDemoOwner(ports)
  return ownerId === null ? [] : [`  another key  ${keyCommand(program, ownerId)}`]
}

/** Returns the owner's id; null if there is no `acme`. */
async function findDemoOwner(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "sealing" | "store">,
): Promise<string | null> {
  const tag = companyNameTag(ports, DEMO_COMPANY)
  const companyId = await ports.runner.read(COMPANIES_STREAM, (state) =>
    companyByNameTag(state, tag),
  )
  if (companyId === null) return null
  await waitForOwnWrites(ports)
  const people = await listPeople(ports.readAll, companyId)
  return people.find(({ role }) => role === "owner")?.person_id ?? null
}

function keyCommand(program: string, ownerId: string): string {
  return `${program} key create --company ${DEMO_COMPANY} --person ${ownerId} --all-operations`
}
