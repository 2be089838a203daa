/** Sends requests to a company's ledger and waits until the read models show the result. */
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

/** Executes the commands in this order; the ledger must accept all of them. */
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

/** Executes the command of a step on the current facts; the ledger may reject it. */
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

/** Executes every kind of ledger and access action, including a refusal. No time passes. */
export async function executeEverything(
  world: World,
  company: Pick<Company, "companyId">,
): Promise<void> {
  await executeRejected(world, company)
  for (const given of EVERY_FACT_STEPS) await executeStep(world, company, given)
  await performAllAccessActions(world, company)
}

/** Requests a charge that exceeds all funds, and stores the refusal. */
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
