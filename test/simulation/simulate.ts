/** A run of the simulation for a seed: its beginning, trouble, calm, and what was seen in it. */
import { createHash } from "node:crypto"
import { vi } from "vitest"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { DEFAULT_BOOK } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { runsOf } from "../charging/runs.ts"
import { audit, auditOpen } from "./audit.ts"
import { Callers } from "./callers.ts"
import { drawLimit } from "./requests.ts"
import type { DatabaseFlaws } from "./database.ts"
import { MODELS, showRows } from "./database.ts"
import { Fleet } from "./fleet.ts"
import type { Chance } from "./schedule.ts"
import { WORLD } from "./schedule.ts"
import { plainSealing } from "./sealing.ts"
import { CALM, drawFaults } from "./wire.ts"
import { World } from "./world.ts"

const COMPANIES: readonly CompanyId[] = ["co_aaaaaa", "co_bbbbbb"]
const NUMBER = "+12015550000"
const CALL_MICROS = 700

/** Sets up prices and companies while nothing goes wrong; answers the companies. */
async function setUp(world: World, fleet: Fleet): Promise<readonly CompanyId[]> {
  const { chance } = world
  const companies = COMPANIES.slice(0, chance.between(1, COMPANIES.length))
  const cause = causedBy("set up")
  await fleet.ask(async ({ ports }) => {
    const prices = DEFAULT_BOOK.map((one) => {
      return one.item === "api_call" ? { ...one, unitPriceMicros: CALL_MICROS } : one
    })
    const open = { type: "OpenPriceBook" as const, prices }
    await ports.runner.execute(PRICES, open, cause)
    for (const companyId of companies) {
      await openAccess(ports, companyId)
      await addNumber(ports, companyId)
      for (const command of beginnings(chance)) {
        await ports.runner.execute(ledgerOf(companyId), command, cause)
      }
    }
  })
  return companies
}

async function openAccess({ runner }: Ports, companyId: CompanyId): Promise<void> {
  const name = await plainSealing.seal(companyId, "company", companyId)
  const opening = { type: "OpenCompany", companyId, name, plan: "payg", pays: "card" } as const
  await runner.execute(accessOf(companyId), opening, causedBy("set up"))
}

async function addNumber({ runner }: Ports, companyId: CompanyId): Promise<void> {
  const number = await plainSealing.seal(companyId, "company", NUMBER)
  const numberTag = await plainSealing.tag(companyId, NUMBER)
  const means = { sms: true, mms: true, voice: true, monthlyMicros: 0, paidThrough: null }
  const place = { kind: "local", locality: null, region: null, test: true } as const
  const held = { numberId: "num_1", number, numberTag, ...means, ...place } as const
  await runner.execute(phoneOf(companyId), { type: "AddNumber", ...held }, causedBy("set up"))
}

function beginnings(chance: Chance): readonly LedgerCommand[] {
  const creditLineMicros = chance.pick([0, 0, 50_000])
  const fundsMicros = chance.pick([40_000, 300_000, 5_000_000])
  const limits = Array.from({ length: chance.between(0, 4) }, () => drawLimit(chance))
  return [
    { type: "OpenLedger", prepaidOnly: chance.happens(0.3), creditLineMicros },
    { type: "AddFunds", amountMicros: fundsMicros, reference: "the first" },
    ...(["key_a1", "key_app"] as const).map((keyId) => ({
      type: "SetPurchaseTerms" as const,
      keyId,
      mode: "on" as const,
      perPurchaseMicros: 5_000_000,
      perMonthMicros: 10_000_000,
    })),
    ...limits.map((limit) => ({ type: "SetLimit" as const, ...limit })),
  ]
}

/** What must happen somewhere in all the usual runs. */
export const HAPPENS: readonly string[] = [
  "append answer lost",
  "append late",
  "append request lost",
  "append unavailable",
  "append met WrongRevision",
  "subscriber dropped",
  "delivered twice",
  "store lost",
  "database broke",
  "process crashed",
  "process stopped",
  "clock jumped",
  "lock taken",
  "lock waited for",
  "lock refused",
  "locks lost",
  "told OutcomeUnknown",
  "told DeadlinePassed",
  "told ClockUnsure",
  "told nothing",
  "refused spend_limit_reached",
  "refused payment_required",
  "refused account_locked",
  "call gathered",
  "call refused",
  "ApiCallsCounted",
  "MonthClosed",
  "ReminderReached",
  "Charged",
  "ChargesSettled",
  "ChargeReduced",
  "FundsCorrected",
  "PurchasePaid",
  "LowFundsAlertSet",
  "LowFundsReached",
  "TextQueued",
  "TextAccepted",
  "TextRejected",
  "TextAbandoned",
  "KeyCreated",
  "KeyPaused",
]

/** How often what happened: facts by type, refusals by code, errors and warnings by name. */
function seenIn(
  { records, happened, schedule }: World,
  events: readonly StoredEvent[],
): ReadonlyMap<string, number> {
  const seen = new Map<string, number>(happened)
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)
  seen.set("step", schedule.steps)
  for (const { type } of events) count(type)
  for (const { outcome, error, command } of records.commanded) {
    if (error !== null) count(`told ${error.name}`)
    else if (outcome === null) count("told nothing")
    else if (!outcome.accepted) count(`refused ${(outcome.refusal as { code?: string }).code}`)
    else if (outcome.facts.length === 0) count(`quiet ${(command as { type?: string }).type}`)
  }
  for (const { answer } of records.gathered) {
    if (answer === "gathered") count("call gathered")
    else if (answer !== null && !(answer instanceof Error)) count("call refused")
  }
  for (const { message } of records.warned) {
    if (message.startsWith("no checkpoint")) count("checkpoint not kept")
  }
  return seen
}

const USUAL = 200
const DEEP = 10_000
const ONE_TEST = 50

const named = process.env["LEDGER_SEED"]

/**
 * The seeds, in lots that take about a test's time: 200 of them, 10,000 with `LEDGER_DEEP=1`, a few with
 * `LEDGER_RUNS=few`, and exactly one with `LEDGER_SEED=<seed>`, which replays that run.
 */
export function lotsOfSeeds(): readonly (readonly number[])[] {
  if (named !== undefined) return [[Number(named)]]
  const { numRuns } = runsOf(USUAL, DEEP)
  const seeds = Array.from({ length: numRuns }, (_, i) => i + 1)
  return Array.from({ length: Math.ceil(numRuns / ONE_TEST) }, (_, lot) => {
    return seeds.slice(lot * ONE_TEST, (lot + 1) * ONE_TEST)
  })
}

/** Whether every usual seed is gone through: fewer show less of what can happen. */
export const isWhole = named === undefined && runsOf(USUAL).numRuns >= USUAL

/** What broke in a run, and how to see it again; null where everything held. */
export function failureOf({ seed, breaks }: Run): string | null {
  if (breaks.length === 0) return null
  const again = `LEDGER_SEED=${seed} npm test -- test/simulation/simulation.test.ts`
  return [`seed ${seed}:`, ...breaks.map((one) => `  ${one}`), `  again: ${again}`].join("\n")
}

/** What no usual seed shows is looked for in later seeds, up to this one. */
export const MOST_SEEDS = 1_000

/**
 * The first run that breaks something of this kind; null where all of them hold. The seed that is likely
 * to show it is looked at first: an order of microtasks that changes makes it another one.
 */
export async function firstBroken(
  flaws: DatabaseFlaws,
  breaks: RegExp,
  likely: number,
): Promise<Run | null> {
  const others = Array.from({ length: MOST_SEEDS }, (_, i) => i + 1).filter(
    (seed) => seed !== likely,
  )
  for (const seed of [likely, ...others]) {
    const run = await simulate(seed, flaws)
    if (run.breaks.some((one) => breaks.test(one))) return run
  }
  return null
}

const TROUBLE_MS = 20_000
/** Calls that are gathered are recorded after five seconds. */
const SETTLE_MS = 6_000
const HOUR_MS = 3_600_000
/** How the ledger's time goes on when all is calm: open charges end, and a night passes. */
const LATER = [HOUR_MS, HOUR_MS, 25 * HOUR_MS, HOUR_MS]
const ROUND_MS = 1_200

/** What came of a run. */
export interface Run {
  readonly seed: number
  /** What does not hold; empty where everything does. */
  readonly breaks: readonly string[]
  /** A hash over everything that is stored and told, in the order in which it was. */
  readonly digest: string
  /** How often what happened. */
  readonly seen: ReadonlyMap<string, number>
}

/** Runs the simulation for a seed. What fails is told in `breaks`: nothing is thrown. */
export async function simulate(seed: number, flaws: DatabaseFlaws = {}): Promise<Run> {
  // The workers look for work by a timer of the machine: here they are woken by the schedule.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  const world = new World(seed, flaws)
  const breaks: string[] = []
  try {
    await live(world, breaks)
  } catch (error) {
    breaks.push(`the run broke: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    vi.useRealTimers()
  }
  const events = await everything(world)
  return { seed, breaks, digest: digestOf(world, events), seen: seenIn(world, events) }
}

/** Trouble, then calm; what is open ends, everything is stopped, and the audit looks at it. */
async function live(world: World, breaks: string[]): Promise<void> {
  const { schedule, chance, database } = world
  const fleet = new Fleet(world)
  const companies = await during(world, setUp(world, fleet))
  world.faults = drawFaults(chance)
  const callers = new Callers(world, fleet, companies)
  const asking = callers.run()
  void fleet.misfortune(() => world.faults === CALM)
  await during(world, Promise.race([asking, schedule.pause(WORLD, TROUBLE_MS)]))
  world.faults = CALM
  world.carrier.isCalm = true
  // What a process could not let go in time, its end lets go.
  fleet.replaceAll()
  await during(world, asking)
  await during(world, schedule.pause(WORLD, SETTLE_MS))
  await during(world, caughtUp(world))
  breaks.push(...auditOpen(world, await everything(world)))
  for (const ms of LATER) {
    database.work.retryAll()
    world.jump(ms)
    await during(world, schedule.pause(WORLD, ROUND_MS))
  }
  await during(world, fleet.stopAll())
  breaks.push(...(await audit({ world, callers, events: await everything(world) })))
}

/** Lets time pass until something is done. */
async function during<T>(world: World, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  // Whoever waits for it is told below; until then nobody does.
  done.catch(() => undefined)
  await world.schedule.runUntil(() => isDone)
  return done
}

/** Resolves once every read model has taken everything. */
async function caughtUp({ schedule, store, database }: World): Promise<void> {
  const head = await store.head()
  while (!MODELS.every((name) => comparePositions(database.positionOf(name), head) >= 0)) {
    await schedule.pause(WORLD, 100)
  }
}

async function everything({ store }: World): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of store.readAll()) events.push(...page)
  return events
}

function digestOf({ database, records, schedule }: World, events: readonly StoredEvent[]): string {
  const hash = createHash("sha256")
  for (const { stream, id, data, metadata } of events) hash.update(stream + id + data + metadata)
  for (const rows of Object.values(database.rows)) hash.update(showRows(rows))
  for (const { cause, process, lengthTold } of records.commanded) {
    hash.update(`${cause} ${process} ${lengthTold}\n`)
  }
  return hash.update(`${schedule.steps} ${schedule.now}`).digest("hex")
}
