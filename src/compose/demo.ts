/** The company `acme`, made on an empty store so that a newcomer has something to call. */
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { companyByNameTag, companyCount } from "../../domain/company/companies.ts"
import { PROGRAM } from "../slices.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { newId } from "../frame/kernel/ids.ts"
import { nameTagOf, showWrites } from "../frame/operator/inputs.ts"
import { listPeople } from "../../projections/access/people.ts"

const NAME = "acme"

/**
 * Makes `acme` where there is no company yet; answers lines to print, the key among them once.
 *
 * @param program what calls the program from a shell
 */
export async function makeDemo(
  ports: AdminPorts,
  url: string,
  program: string,
): Promise<readonly string[]> {
  const count = await ports.runner.read(COMPANIES, companyCount)
  if (count > 0) {
    const why = "  demo         not made: this store has companies already"
    return [why, ...(await nextKey(ports, program))]
  }
  const company = NAME
  const { ownerId } = await run<{ ownerId: string }>(ports, "company create", {
    name: NAME,
    funds: "50",
    ownerName: "Ada Example",
    ownerEmail: "ada@example.com",
  })
  await run(ports, "card set", { company, verified: true })
  const { keyId, key } = await run<{ keyId: string; key: string }>(ports, "key create", {
    company,
    person: ownerId,
    allOperations: true,
    label: "demo",
    addFundsPerPurchase: "50",
    addFundsPerMonth: "200",
  })
  await run(ports, "limit set", { company, class: "general", period: "month", dollars: "40" })
  await run(ports, "limit set", {
    company,
    person: ownerId,
    class: "general",
    period: "week",
    dollars: "20",
  })
  await run(ports, "limit set", { company, key: keyId, period: "day", dollars: "5" })
  const { url: link } = await run<{ url: string }>(ports, "console link", { person: ownerId })
  return [
    `  console      ${link}`,
    `               (signs its owner in once, for ten minutes)`,
    `  company      ${NAME}: $50 of funds, limits of $40 a month, $20 a week for its owner, $5 a day for the key`,
    `  key          ${key}`,
    `               (shown this once; others: ${keyCommand(program, ownerId)})`,
    "",
    "Send a text (nothing leaves this machine: the carrier is built in):",
    "",
    `curl -s ${url}/api/v1/phone/messages -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' -d '{"to":"+14155550123","body":"Hello from acme"}'`,
    "",
  ]
}

/** How another key of the demo's owner is made, as lines to print; none where there is no `acme`. */
export async function nextKey(ports: AdminPorts, program: string): Promise<readonly string[]> {
  const tag = nameTagOf(ports, NAME)
  const companyId = await ports.runner.read(COMPANIES, (state) => companyByNameTag(state, tag))
  if (companyId === null) return []
  await showWrites(ports)
  const owner = (await listPeople(ports.readAll, companyId)).find(({ role }) => role === "owner")
  if (owner === undefined) return []
  return [`  another key  ${keyCommand(program, owner.person_id)}`]
}

/** The one command that makes a key. */
function keyCommand(program: string, ownerId: string): string {
  return `${program} key create --company ${NAME} --person ${ownerId} --all-operations`
}

async function run<O>(ports: AdminPorts, name: string, input: object): Promise<O> {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  return (await found.run(
    {
      ports,
      cause: { ...causedBy(newId("cmd")), actor: "demo" },
      progress: () => undefined,
      send: async () => undefined,
      signal: new AbortController().signal,
    },
    found.input.parse(input),
  )) as O
}
