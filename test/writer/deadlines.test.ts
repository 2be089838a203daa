/** No caller waits past its deadline, whatever the runner waits for, and no fact is lost because of it. */
import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type { RunnerPorts } from "../../src/frame/writer/runner/port.ts"
import {
  addFundsCommand,
  executeOnLedger,
  runnerOn,
  SERVED_CALL,
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  pendingChargeCommand,
  runnerWith,
  storedEventsIn,
  virtualPacer,
} from "./runner-fixture.ts"

const NOON = Date.UTC(2026, 10, 21, 12)

/** A dependency that can hang: it sends no response until `respond`, whether it executed the request or not. */
type Hanging = "append" | "append unstored" | "read" | "lock" | "checkpoint"

/** Opens a runner with this default deadline for callers; without one, the usual default. */
function hangingFixture(deadlineMs?: number) {
  const pacer = virtualPacer()
  const memory = openMemoryEventStore()
  const warnings: string[] = []
  let hanging: Hanging | null = null
  let answer = Promise.withResolvers<void>()
  let setAheadMs = 0
  let conflicts = 0
  const waitIfHanging = async (what: Hanging): Promise<void> => {
    if (hanging === what) await answer.promise
  }
  const interfere = async (): Promise<void> => {
    if (conflicts === 0) return
    conflicts -= 1
    await executeOnLedger(runnerOn(memory), addFundsCommand(1))
  }
  const runner = openRunner({
    ...hangingPorts(memory, pacer, waitIfHanging, interfere),
    pacer,
    clock: { now: () => NOON + setAheadMs },
    warn: (message) => warnings.push(message),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
  return {
    runner,
    memory,
    warnings,
    /** Advances the time once everything has run as far as it can. */
    pass: async (ms: number) => {
      await settled()
      pacer.advance(ms)
      await settled()
    },
    /** Sets the ledger's time ahead. */
    setAhead: (ms: number) => (setAheadMs += ms),
    /** Another process writes before each of the next appends. */
    interfere: (times: number) => (conflicts = times),
    hang: (what: Hanging) => (hanging = what),
    /** Sends the outstanding responses, or this error instead. */
    respond: async (fault?: Error) => {
      hanging = null
      if (fault === undefined) answer.resolve()
      else answer.reject(fault)
      answer = Promise.withResolvers()
      await settled()
    },
  }
}

function hangingPorts(
  memory: EventStore,
  pacer: RunnerPorts["pacer"],
  waitIfHanging: (what: Hanging) => Promise<void>,
  interfere: () => Promise<void>,
): Pick<RunnerPorts, "store" | "checkpoints" | "locks"> {
  const checkpoints = openMemoryCheckpoints()
  const turns = openMemoryLocks(pacer)
  return {
    store: {
      ...memory,
      append: async (...args) => {
        await interfere()
        await waitIfHanging("append unstored")
        const appended = await memory.append(...args)
        await waitIfHanging("append")
        return appended
      },
      read: async function* (...args: Parameters<EventStore["read"]>) {
        await waitIfHanging("read")
        yield* memory.read(...args)
      },
    },
    checkpoints: {
      ...checkpoints,
      load: async (stream) => {
        await waitIfHanging("checkpoint")
        return checkpoints.load(stream)
      },
    },
    locks: {
      acquire: async (name, timeoutMs) => {
        await waitIfHanging("lock")
        return turns.acquire(name, timeoutMs)
      },
    },
  }
}

/** Resolves once everything has run as far as it can without time passing. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
}

const DAY = 86_400_000
/** A request's result so far: an error's name, `yes`, `no`, or null while it is pending. */
function resultOf(request: Promise<unknown>): () => string | null {
  let result: string | null = null
  request.then(
    (outcome) => {
      const isRejected =
        (outcome as { readonly accepted?: boolean } | undefined)?.accepted === false
      result = isRejected ? "no" : "yes"
    },
    (error: Error) => (result = error.name),
  )
  return () => result
}

const isDiscarded = (warning: string) => warning.endsWith("could not be recorded")
const call = (runner: Runner) => runner.buffer(TEST_LEDGER, SERVED_CALL)
const readAccount = (runner: Runner) => runner.read(TEST_LEDGER, accountOf)

async function typesOf(store: EventStore): Promise<readonly string[]> {
  return (await storedEventsIn(store)).map(({ type }) => type)
}

async function callsOf(store: EventStore): Promise<number> {
  const events = (await storedEventsIn(store)).filter(({ type }) => type === "ApiCallsCounted")
  const counts = events.map(({ data }) => JSON.parse(data).counters[0].calls as number)
  return counts.reduce((sum, count) => sum + count, 0)
}

describe("while an append that starts with buffered calls gets no response", () => {
  it.each(["append", "append unstored"] as const)(
    "each caller waits until its own deadline and no longer (%s)",
    async (what) => {
      const { runner, memory, warnings, pass, hang, respond } = hangingFixture()
      await executeOnLedger(runner, addFundsCommand(1_000))
      await call(runner)
      hang(what)
      const inIt = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_in_it", 10)))
      const hurried = resultOf(
        executeOnLedger(runner, pendingChargeCommand("chg_hurried", 10), 2_000),
      )
      const refused = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_too_much", 5_000)))
      const read = resultOf(readAccount(runner))
      await pass(1_999)
      const behind = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_behind", 10)))
      const results = () => [inIt(), hurried(), refused(), read(), behind()]
      expect(results()).toEqual([null, null, null, null, null])
      await pass(1)
      expect(results()).toEqual([null, "OutcomeUnknown", null, null, null])
      await pass(5_999)
      expect(results()).toEqual([null, "OutcomeUnknown", null, null, null])
      await pass(1)
      const late = ["OutcomeUnknown", "OutcomeUnknown", "DeadlinePassed", "DeadlinePassed"]
      expect(results()).toEqual([...late, null])
      await pass(1_999)
      expect(results()).toEqual([...late, "DeadlinePassed"])
      await pass(60_000)
      await respond()
      expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged", "Charged"])
      expect(await callsOf(memory)).toBe(1)
      expect((await executeOnLedger(runner, pendingChargeCommand("chg_in_it", 10))).accepted).toBe(
        true,
      )
      expect((await readAccount(runner)).fundsMicros).toBe(980)
      expect(warnings.filter(isDiscarded)).toEqual([])
    },
  )

  it("buffered calls are kept as long as needed, and commands that timed out are not", async () => {
    const { runner, memory, warnings, pass, hang, respond } = hangingFixture()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    hang("append unstored")
    const result = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_1", 10)))
    await pass(500_000)
    expect(result()).toBe("OutcomeUnknown")
    await respond(new Unavailable("it was never sent"))
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 10))).accepted).toBe(true)
    expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged"])
    expect(await callsOf(memory)).toBe(1)
    expect(warnings.filter(isDiscarded)).toEqual([])
  })

  it("buffered calls are stored once if the store finally reports an unknown outcome", async () => {
    const { runner, memory, warnings, pass, hang, respond } = hangingFixture()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    hang("append")
    const result = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_1", 10)))
    await pass(8_000)
    expect(result()).toBe("OutcomeUnknown")
    await respond(new UnknownOutcome("the connection broke"))
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_1", 10))).accepted).toBe(true)
    expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged"])
    expect(warnings.filter(isDiscarded)).toEqual([])
  })

  it("callers that only count calls are turned away too, at their own deadline", async () => {
    const { runner, memory, pass, setAhead, hang, respond } = hangingFixture()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    setAhead(DAY)
    hang("append")
    const first = resultOf(call(runner))
    await pass(7_999)
    expect(first()).toBe(null)
    await pass(1)
    expect(first()).toBe("DeadlinePassed")
    await respond()
    expect(await callsOf(memory)).toBe(1)
  })
})

describe("no caller waits past its deadline", () => {
  it.each(["read", "checkpoint"] as const)("for a load (%s)", async (what) => {
    const { runner, memory, pass, hang, respond } = hangingFixture()
    hang(what)
    const short = resultOf(executeOnLedger(runner, addFundsCommand(5), 100))
    const long = resultOf(executeOnLedger(runner, addFundsCommand(7)))
    const read = resultOf(readAccount(runner))
    await pass(100)
    expect([short(), long(), read()]).toEqual(["DeadlinePassed", null, null])
    await pass(7_900)
    expect([long(), read()]).toEqual(["DeadlinePassed", "DeadlinePassed"])
    await respond()
    expect((await executeOnLedger(runner, addFundsCommand(9))).view.fundsMicros).toBe(9)
    expect(await typesOf(memory)).toEqual(["FundsAdded"])
  })

  it("for the read that confirms a rejection or an empty decision", async () => {
    const { runner, memory, pass, hang, respond } = hangingFixture()
    await executeOnLedger(runner, addFundsCommand(5))
    await executeOnLedger(runner, pendingChargeCommand("chg_1", 5))
    await pass(10)
    hang("read")
    const no = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_2", 10)))
    const empty = resultOf(executeOnLedger(runner, pendingChargeCommand("chg_1", 5), 1_000))
    await pass(1_000)
    expect([no(), empty()]).toEqual([null, "DeadlinePassed"])
    await pass(7_000)
    expect(no()).toBe("DeadlinePassed")
    await executeOnLedger(runnerOn(memory), addFundsCommand(50))
    await respond()
    expect(await typesOf(memory)).toEqual(["FundsAdded", "Charged", "FundsAdded"])
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 10))).accepted).toBe(true)
  })

  it("for the lock of writers that take turns", async () => {
    const { runner, memory, pass, interfere, hang, respond } = hangingFixture()
    await executeOnLedger(runner, addFundsCommand(1))
    // After two appends that conflict with another writer, writers take turns.
    interfere(2)
    hang("lock")
    const result = resultOf(executeOnLedger(runner, addFundsCommand(1), 500))
    await pass(499)
    expect(result()).toBe(null)
    await pass(1)
    expect(result()).toBe("DeadlinePassed")
    await respond()
    expect(await typesOf(memory)).toHaveLength(3)
  })

  it("behind hundreds of earlier callers", async () => {
    const { runner, pass, hang, respond } = hangingFixture(1_000)
    hang("read")
    const results: (() => string | null)[] = []
    for (let i = 0; i < 500; i += 1) {
      results.push(resultOf(executeOnLedger(runner, addFundsCommand(1))))
      await pass(1)
    }
    await pass(500)
    expect(results[0]?.()).toBe("DeadlinePassed")
    expect(results.at(-1)?.()).toBe(null)
    await pass(510)
    expect(new Set(results.map((one) => one()))).toEqual(new Set(["DeadlinePassed"]))
    await respond()
  })
})

describe("a shutdown while the store reports unknown outcomes", () => {
  it("discards buffered calls in the end, with a warning", async () => {
    const pacer = virtualPacer()
    const warnings: string[] = []
    const memory = openMemoryEventStore({ chooseFault: () => "unstored-unknown" })
    const runner = runnerWith({
      store: memory,
      pacer,
      warn: (message) => warnings.push(message),
    })
    await call(runner)
    await runner.close()
    expect(pacer.elapsedMs()).toBeLessThan(120_000)
    expect(warnings).toEqual([
      `the buffered items of ${TEST_LEDGER_STREAM} are not stored yet`,
      `the buffered items of ${TEST_LEDGER_STREAM} could not be stored`,
    ])
  })
})
