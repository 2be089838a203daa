/** Minutes that began are charged once each, in any interleaving and with crashes at any step. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import type { BoxStartOptions, StartRequest } from "./minute-world.ts"
import {
  BOX_STARTER,
  MinuteWorld,
  addFundsCommand,
  changeLedger,
  changeAccess,
  setWeekLimitCommand,
  openFundedCompany,
  openTestPriceBook,
  requestBoxStart,
  requestBoxStop,
} from "./minute-world.ts"
import type { CrashPoint } from "./interleaving.ts"
import { oneOfWords, untilAllWaiting, weightedStep } from "./interleaving.ts"
import { auditMinutes } from "./minute-audit.ts"

/** The company of every history. */
const COMPANY = "co_aaaaaa"
const PROCESSES = 3

const which = fc.nat(40)
const by = fc.nat(PROCESSES - 1)
const fate = fc.option(
  fc.record({ turnNumber: fc.integer({ min: 1, max: 14 }), isEffectApplied: fc.boolean() }),
  {
    freq: 2,
  },
)
const startOptions = fc.record({
  size: fc.constantFrom("small", "medium", "large", "xlarge"),
  maxMinutes: fc.constantFrom(1, 3, 9, 30, 60),
  idleMinutes: fc.constantFrom(5, 60),
  budget: fc.constantFrom(null, null, 0.02, 0.05),
})
const ms = fc.constantFrom(
  1,
  500,
  30_000,
  BOX_MINUTE_MS - 1,
  BOX_MINUTE_MS,
  BOX_MINUTE_MS + 1,
  BOX_MINUTE_MS + 1,
  61_000,
  90_000,
  2 * BOX_MINUTE_MS + 2,
  5 * BOX_MINUTE_MS,
  16 * BOX_MINUTE_MS,
)

const accounts = ["LockAccount", "UnlockAccount", "UnlockAccount", "UnlockAccount"] as const

const anyStep = fc.oneof(
  weightedStep(30, { does: oneOfWords("let"), which }),
  weightedStep(14, { does: oneOfWords("row"), which, by, fate }),
  weightedStep(4, { does: oneOfWords("pass"), ms }),
  // Time passes until a job is due, and two processes run it concurrently.
  weightedStep(8, { does: oneOfWords("due"), which, fates: fc.tuple(fate, fate) }),
  weightedStep(3, { does: oneOfWords("start"), options: startOptions, by, fate }),
  weightedStep(1, { does: oneOfWords("again"), which, by, fate }),
  weightedStep(1, { does: oneOfWords("stop"), which, deletes: fc.boolean() }),
  weightedStep(3, {
    does: oneOfWords("limit"),
    micros: fc.constantFrom(null, null, 1_000, 20_000, 50_000),
  }),
  weightedStep(2, { does: oneOfWords("funds"), micros: fc.constantFrom(4_000, 300_000) }),
  weightedStep(1, {
    does: oneOfWords("key"),
    type: oneOfWords("PauseKey", "ResumeKey", "ResumeKey"),
  }),
  weightedStep(1, { does: oneOfWords("account"), type: oneOfWords(...accounts, "CloseLedger") }),
  weightedStep(1, { does: oneOfWords("lose"), which }),
  weightedStep(1, { does: oneOfWords("busy"), which }),
  weightedStep(1, {
    does: oneOfWords("hosts"),
    say: oneOfWords("ok", "ok", "unavailable", "silent"),
    isCloneFailing: fc.constantFrom(false, false, true),
  }),
)
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never

/** Running boxes, and the steps that follow. */
const histories = fc.record({
  running: fc.array(startOptions, { maxLength: 4 }),
  steps: fc.array(anyStep, { maxLength: 160, size: "max" }),
})

class HistoryRun {
  readonly world = new MinuteWorld(PROCESSES)
  readonly #starts: StartRequest[] = []
  readonly #claimed = new Set<number>()

  /** Opens a company with running boxes. */
  async open(running: readonly BoxStartOptions[]): Promise<void> {
    const { world } = this
    await openTestPriceBook(world)
    await openFundedCompany(world, COMPANY, "29", 100_000)
    world.isUnblocked = true
    for (const options of running) {
      this.#start(this.#request(options), 0, null, false)
      await world.finish()
    }
    for (const row of world.stored.jobs.values()) {
      if (row.dueAt <= world.now) world.runJob(row, 0, null)
      await world.finish()
    }
    world.isUnblocked = false
  }

  get #boxes(): readonly BoxId[] {
    return this.world.stored.facts.flatMap(({ fact }) =>
      fact.type === "BoxStarted" ? [fact.boxId] : [],
    )
  }

  /** The jobs in the order in which they are due. */
  get #rows() {
    return [...this.world.stored.jobs.values()].toSorted((a, b) => a.dueAt - b.dueAt)
  }

  async step(step: Step): Promise<void> {
    const { world } = this
    switch (step.does) {
      case "let":
        return world.grantTurn(step.which)
      case "pass":
        world.advance(step.ms)
        return
      case "due": {
        const rows = this.#rows
        const row = rows[step.which % Math.max(1, Math.min(4, rows.length))]
        if (row === undefined) return
        if (row.dueAt > world.now) world.advance(row.dueAt - world.now)
        for (const [i, dies] of step.fates.entries()) world.runJob(row, i, dies)
        return
      }
      case "start":
        this.#start(this.#request(step.options), step.by, step.fate, false)
        return
      case "again":
        this.#start(step.which % Math.max(1, this.#starts.length), step.by, step.fate, true)
        return
      case "row": {
        const due = [...world.stored.jobs.values()].filter(({ dueAt }) => dueAt <= world.now)
        const row = due[step.which % Math.max(1, due.length)]
        if (row !== undefined) world.runJob(row, step.by, step.fate)
        return
      }
      case "stop": {
        const boxId = this.#box(step.which)
        if (boxId === undefined) return
        void world.start(0, null, (ports) => requestBoxStop(ports, COMPANY, boxId, step.deletes))
        return
      }
      case "limit":
        return changeLedger(world, COMPANY, setWeekLimitCommand(step.micros))
      case "funds":
        return changeLedger(world, COMPANY, addFundsCommand(step.micros))
      case "key":
        return changeAccess(world, COMPANY, { type: step.type, keyId: BOX_STARTER.keyId })
      case "account":
        return changeLedger(world, COMPANY, { type: step.type })
      case "lose": {
        const boxId = this.#box(step.which)
        if (boxId !== undefined) for (const machine of world.machines) machine.delete(boxId)
        return
      }
      case "busy": {
        const boxId = this.#box(step.which)
        if (boxId === undefined) return
        for (const machine of world.machines) {
          const box = machine.get(boxId)
          if (box !== undefined) box.activities += 1
        }
        return
      }
      case "hosts":
        Object.assign(world, { provider: step.say, isCloneFailing: step.isCloneFailing })
    }
  }

  #box(one: number): BoxId | undefined {
    const boxes = this.#boxes
    return boxes[one % Math.max(1, boxes.length)]
  }

  /** Adds a new request; returns its index. */
  #request(options: BoxStartOptions): number {
    const name = `start ${this.#starts.length}`
    return this.#starts.push({ name, options, attempt: 0 }) - 1
  }

  /** Executes a request to start a box, unless another process has its claim. */
  #start(i: number, process: number, dies: CrashPoint | null, isAgain: boolean): void {
    const request = this.#starts[i]
    if (request === undefined || this.#claimed.has(i)) return
    this.#claimed.add(i)
    void this.world
      .start(process, dies, (ports) => requestBoxStart(ports, COMPANY, request, isAgain))
      .then(() => this.#claimed.delete(i))
  }

  /** Runs the remaining jobs without crashes, until all boxes have ended. */
  async end(): Promise<void> {
    const { world } = this
    Object.assign(world, { provider: "ok", isCloneFailing: false })
    await world.finish()
    const until = world.now + 5 * 3_600_000
    for (let turn = 0; world.stored.jobs.size > 0; turn += 1) {
      const [row] = this.#rows
      if (row === undefined) break
      if (row.dueAt > world.now) world.advance(row.dueAt - world.now)
      if (world.now > until) throw new Error(`no end of ${row.key}`)
      world.runJob(row, turn % PROCESSES, null)
      await world.finish()
    }
  }
}

const TEST_TIMEOUT_MS = 600_000
const RUNS = 300
const START_OPTIONS = { size: "small", maxMinutes: 9, idleMinutes: 60, budget: null } as const
/** No start and no job has more turns. */
const MAX_TURNS = 18

/** Facts that must occur in the histories, so that they cover enough. */
const REQUIRED_OCCURRENCES = [
  "BoxAbandoned",
  "BoxFailed",
  "BoxDeleted",
  "BoxMinuteRefused",
  "ChargeReduced",
  ...["stopped", "idle", "time_cap", "budget", "spending_limit", "funds", "key_changed"].map(
    (reason) => `BoxStopped ${reason}`,
  ),
]

const expectRuleHolds = (world: MinuteWorld, isOver: boolean): void => {
  expect(world.faults).toEqual([])
  expect(auditMinutes(world.stored.facts, isOver).violations).toEqual([])
}

describe("minutes", () => {
  it("are charged once each, in any interleaving", { timeout: TEST_TIMEOUT_MS }, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(histories, async ({ running, steps }) => {
        const run = new HistoryRun()
        const { world } = run
        await run.open(running)
        for (const one of steps) {
          await run.step(one)
          await untilAllWaiting()
        }
        expectRuleHolds(world, false)
        await run.end()
        expectRuleHolds(world, true)
        const { occurrences } = auditMinutes(world.stored.facts, true)
        for (const [what, times] of occurrences) seen.set(what, (seen.get(what) ?? 0) + times)
      }),
      // Shrinking takes longer than a test may; the seed reproduces the failure.
      { numRuns: RUNS, endOnFailure: true },
    )
    expect(REQUIRED_OCCURRENCES.filter((what) => !seen.has(what))).toEqual([])
  })

  it(
    "are the same after a crash at any step of a start, of creating the box, or of a minute",
    { timeout: TEST_TIMEOUT_MS },
    async () => {
      const wrong: string[] = []
      for (const what of ["start", "create-box", "charge-box-minute"] as const) {
        for (let at = 1; at <= MAX_TURNS; at += 1) {
          for (const isDone of [false, true]) {
            const run = new HistoryRun()
            const { world } = run
            await run.open(what === "charge-box-minute" ? [START_OPTIONS] : [])
            world.isUnblocked = true
            const crash = { turnNumber: at, isEffectApplied: isDone }
            const startCrash = what === "start" ? crash : null
            await run.step({ does: "start", options: START_OPTIONS, by: 0, fate: startCrash })
            await world.finish()
            const row = [...world.stored.jobs.values()].find(({ key }) => key.startsWith(what))
            if (row !== undefined) {
              world.advance(Math.max(0, row.dueAt - world.now))
              world.runJob(row, 0, crash)
              await world.finish()
            }
            await run.end()
            const found = auditMinutes(world.stored.facts, true).violations
            if (found.length > 0) wrong.push(`${what} ${at} ${isDone}: ${found.join()}`)
            wrong.push(...world.faults.map(String))
          }
        }
      }
      expect(wrong).toEqual([])
    },
  )

  /** One process gets some turns, another one gets turns while a limit is used up, then the limit is removed. */
  async function interleaveLimit(first: number, second: number, late: number): Promise<HistoryRun> {
    const run = new HistoryRun()
    const { world } = run
    await run.open([START_OPTIONS])
    const row = [...world.stored.jobs.values()].find(({ key }) =>
      key.startsWith("charge-box-minute"),
    )
    if (row === undefined) throw new Error("the running box has no job")
    world.advance(row.dueAt - world.now + late)
    world.runJob(row, 0, null)
    await untilAllWaiting()
    for (let i = 0; i < first; i += 1) await world.grantTurnTo(0)
    await changeLedger(world, COMPANY, setWeekLimitCommand(2_000))
    world.runJob(row, 1, null)
    await untilAllWaiting()
    for (let i = 0; i < second; i += 1) await world.grantTurnTo(1)
    await changeLedger(world, COMPANY, setWeekLimitCommand(null))
    await changeLedger(world, COMPANY, addFundsCommand(1))
    return run
  }

  it.each([0, 60_000])(
    "are charged or refused but never both when a limit changes between two processes (%d ms late)",
    { timeout: TEST_TIMEOUT_MS },
    async (late) => {
      const wrong: string[] = []
      for (let first = 0; first <= MAX_TURNS; first += 1) {
        for (let second = 0; second <= MAX_TURNS; second += 1) {
          for (const last of [0, 1]) {
            const run = await interleaveLimit(first, second, late)
            while (await run.world.grantTurnTo(1 - last));
            await run.end()
            const found = auditMinutes(run.world.stored.facts, true).violations
            if (found.length > 0) wrong.push(`${first} ${second} ${last}: ${found.join()}`)
            wrong.push(...run.world.faults.map(String))
          }
        }
      }
      expect(wrong).toEqual([])
    },
  )
})
