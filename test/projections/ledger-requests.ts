/** Asking a company's ledger from a test, and waiting until everything is shown. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { expect } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { PROGRAM } from "../../src/slices.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company, World } from "../support/world.ts"
import { EVERY_FACT_STEPS } from "./every-fact.ts"
import type { LedgerStep } from "./ledger-steps.ts"
import { performAllAccessActions } from "./access-actions.ts"
import { commandOfStep } from "./reference-charges.ts"

/** Runs the commands in this order. None may be refused. */
export async function executeCommands(
  world: World,
  { companyId }: Pick<Company, "companyId">,
  ...commands: readonly LedgerCommand[]
): Promise<void> {
  for (const command of commands) {
    const stream = ledgerStreamOf(companyId)
    const outcome = await world.ports.runner.execute(stream, command, causedBy("test"))
    expect(outcome.accepted, command.type).toBe(true)
  }
  await world.operate("wait")
}

/** Asks the ledger for what a step means after its facts. It may be refused. */
export async function executeStep(
  world: World,
  { companyId }: Pick<Company, "companyId">,
  given: LedgerStep,
): Promise<void> {
  const stream = ledgerStreamOf(companyId)
  const stored = await collectEvents(world.ports.store.read(stream.stream))
  const facts = stored.map((one) => PROGRAM.streams.toRecorded(one).fact as LedgerEvent)
  const command = commandOfStep(given, facts, world.ports.clock.now())
  if (command === null) return
  await world.ports.runner.execute(stream, command, causedBy("test"))
}

/** Asks for everything that a ledger can be asked for, and lives beside it. No time passes. */
export async function executeEverything(
  world: World,
  company: Pick<Company, "companyId">,
): Promise<void> {
  await executeRejected(world, company)
  for (const given of EVERY_FACT_STEPS) await executeStep(world, company, given)
  await performAllAccessActions(world, company)
}

/** Asks for what no funds pay for, and keeps the no. */
async function executeRejected(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<void> {
  const command: LedgerCommand = {
    type: "Charge",
    chargeId: "chg_vain",
    via: "own_key",
    keyId: "key_1",
    personId: "per_1",
    class: "ai",
    item: "a model",
    quantity: 1,
    unitPriceMicros: 1e15,
    priceVersion: 1,
    amountMicros: 1e15,
    resource: null,
    requestedAt: world.ports.clock.now(),
    dueAt: null,
    servedFrom: null,
    isPending: false,
    exemption: null,
    searchedUpTo: null,
  }
  const stream = ledgerStreamOf(companyId)
  const outcome = await world.ports.runner.execute(stream, command, causedBy("test"))
  if (outcome.accepted) throw new Error("the company pays any price")
  world.ports.storeRefusal(companyId, outcome.refusal as ChargeRefused)
}

/** Calls that the company's key served for its owner on the UTC day that begins at `day`. */
export function callsCommandFor(company: Company, calls: number, day: number): LedgerCommand {
  return {
    type: "RecordApiCalls",
    day,
    unitPriceMicros: 100,
    priceVersion: 1,
    counters: [{ via: "own_key", keyId: company.keyId, personId: company.ownerId, calls }],
  }
}
