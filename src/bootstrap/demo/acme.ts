/** The company `acme`: a newcomer has something to look at, and a key to call with. */
import { listPeople } from "../../../projections/access/people.ts"
import { COMPANIES } from "../../../domain/company/aggregates.ts"
import { companyByNameTag, companyCount } from "../../../domain/company/companies.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { moneyText } from "../../../domain/kernel/money.ts"
import { nameTagOf, showWrites } from "../../frame/operator/inputs.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { operate } from "./player.ts"
import { NAME } from "./script.ts"

const company = NAME

/** Where the demo is made. */
export interface DemoPlace {
  /** The server's address. */
  readonly url: string
  /** What calls the program from a shell. */
  readonly program: string
  /** Whether its company has just lived for a week. */
  readonly isPlayed: boolean
}

/**
 * Makes `acme` where there is no company yet, or gives the one whose week was played its newcomer's key;
 * answers lines to print, the key among them once.
 */
export async function makeDemo(ports: AdminPorts, place: DemoPlace): Promise<readonly string[]> {
  const { program, isPlayed } = place
  const count = await ports.runner.read(COMPANIES, companyCount)
  if (count > 0 && !isPlayed) {
    const why = "  demo         not made: this store has companies already"
    return [why, ...(await nextKey(ports, program))]
  }
  const ownerId = (isPlayed ? await ownerOf(ports) : null) ?? (await makeCompany(ports))
  const made = await operate<{ keyId: string; key: string }>(ports, "key create", {
    company,
    person: ownerId,
    allOperations: true,
    label: "demo",
    addFundsPerPurchase: "50",
    addFundsPerMonth: "200",
  })
  await operate(ports, "limit set", { company, key: made.keyId, period: "day", dollars: "5" })
  return linesOf(ports, place, ownerId, made)
}

/** Makes the company that has spent nothing yet; answers whose it is. */
async function makeCompany(ports: AdminPorts): Promise<string> {
  const { ownerId } = await operate<{ ownerId: string }>(ports, "company create", {
    name: NAME,
    funds: "50",
    ownerName: "Ada Example",
    ownerEmail: "ada@example.com",
  })
  await operate(ports, "card set", { company, verified: true })
  const general = { company, class: "general" }
  await operate(ports, "limit set", { ...general, period: "month", dollars: "40" })
  await operate(ports, "limit set", { ...general, person: ownerId, period: "week", dollars: "20" })
  return ownerId
}

/** What is printed of the demo. */
async function linesOf(
  ports: AdminPorts,
  { url, program, isPlayed }: DemoPlace,
  ownerId: string,
  { keyId, key }: { readonly keyId: string; readonly key: string },
): Promise<readonly string[]> {
  const signIn = await operate<{ url: string }>(ports, "console link", { person: ownerId })
  const shown = await operate<{ balanceMicros: Micros }>(ports, "company show", { company })
  const past = isPlayed ? "a week of spending, " : ""
  return [
    `  console      ${signIn.url}`,
    `               (signs its owner in once, for ten minutes)`,
    `  company      ${NAME}: ${past}${moneyText(shown.balanceMicros)} of funds, limits of $40 a month, $20 a week for its owner, $5 a day for the key`,
    `  key          ${key}`,
    `               (shown this once; others: ${keyCommand(program, ownerId)})`,
    `  its id       ${keyId}`,
    "",
    "Send a text (nothing leaves this machine: the carrier is built in):",
    "",
    `curl -s ${url}/api/v1/phone/messages -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' -d '{"to":"+14155550123","body":"Hello from acme"}'`,
    "",
  ]
}

/** How another key of the demo's owner is made, as lines to print; none where there is no `acme`. */
export async function nextKey(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "sealing" | "store">,
  program: string,
): Promise<readonly string[]> {
  const ownerId = await ownerOf(ports)
  return ownerId === null ? [] : [`  another key  ${keyCommand(program, ownerId)}`]
}

/** Whose the company is; null where there is none. */
async function ownerOf(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "sealing" | "store">,
): Promise<string | null> {
  const tag = nameTagOf(ports, NAME)
  const companyId = await ports.runner.read(COMPANIES, (state) => companyByNameTag(state, tag))
  if (companyId === null) return null
  await showWrites(ports)
  const people = await listPeople(ports.readAll, companyId)
  return people.find(({ role }) => role === "owner")?.person_id ?? null
}

/** The one command that makes a key. */
function keyCommand(program: string, ownerId: string): string {
  return `${program} key create --company ${NAME} --person ${ownerId} --all-operations`
}
