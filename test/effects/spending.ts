/** Spending without the API, so that reactions have facts to handle. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type {
  ApiCallCounter,
  ChargeRequest,
  LedgerEvent,
} from "../../domain/charging/ledger-events.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { World } from "../support/world.ts"

/** Executes a command on a company's ledger and throws if it is rejected. */
export async function executeLedgerCommand(
  world: World,
  companyId: CompanyId,
  command: LedgerCommand,
) {
  const stream = ledgerStreamOf(companyId)
  const outcome = await world.ports.runner.execute(stream, command, causedBy("test"))
  if (!outcome.accepted) throw new Error(`${command.type} was rejected: ${outcome.refusal.type}`)
}

interface Spending {
  readonly dollars: number
  readonly class?: "ai" | "general"
  readonly keyId?: KeyId
  readonly personId?: PersonId
}

/** Charges a person's own key, a person, or the company. */
export async function spend(world: World, companyId: CompanyId, spending: Spending): Promise<void> {
  const { keyId = null, personId = null, class: charged = "general", dollars } = spending
  const amountMicros = dollars * 1_000_000
  const request: ChargeRequest = {
    chargeId: newId("chg"),
    via: keyId === null ? (personId === null ? "company" : "person") : "own_key",
    keyId,
    personId,
    class: charged,
    item: "anything",
    quantity: 1,
    unitPriceMicros: amountMicros,
    priceVersion: 1,
    amountMicros,
    resource: null,
    requestedAt: world.ports.clock.now(),
    dueAt: null,
    servedFrom: null,
  }
  const rest = { isPending: false, exemption: null, searchedUpTo: null }
  await executeLedgerCommand(world, companyId, { type: "Charge", ...request, ...rest })
}

/** Records calls that were served today, as the writer does with buffered calls. */
export async function recordServedCalls(
  world: World,
  companyId: CompanyId,
  counters: readonly ApiCallCounter[],
  unitPriceMicros = 100,
): Promise<void> {
  const day = dayStart(world.ports.clock.now())
  await executeLedgerCommand(world, companyId, {
    type: "RecordApiCalls",
    day,
    unitPriceMicros,
    priceVersion: 1,
    counters,
  })
}

/** The facts of one type in a company's ledger, in order. */
export async function ledgerFactsOf<T extends LedgerEvent["type"]>(
  world: World,
  companyId: CompanyId,
  type: T,
): Promise<readonly Extract<LedgerEvent, { type: T }>[]> {
  const found: Extract<LedgerEvent, { type: T }>[] = []
  for await (const page of world.ports.store.read(ledgerStreamOf(companyId).stream)) {
    for (const stored of page.filter((one) => one.type === type)) {
      found.push(PROGRAM.streams.toRecorded(stored).fact as Extract<LedgerEvent, { type: T }>)
    }
  }
  return found
}

/** Advances the clock while no worker runs. Due jobs wait for the next start. */
export async function advanceWithoutWorkers(world: World, at: string): Promise<void> {
  const { setClock, jobWorkers } = world.ports
  if (setClock === null) throw new Error("this world has no test clock")
  await jobWorkers.stop()
  await setClock(Date.parse(at))
}
