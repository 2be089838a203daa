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

/** A part that can hang: it executes the request or not, and sends no response until `speak`. */
type Silent = "append" | "append unstored" | "read" | "lock" | "checkpoint"

/** Opens a runner with this default deadline for callers; without one, the usual default. */
function silentBench(deadlineMs?: number) {
  const pacer = virtualPacer()
  const memory = openMemoryEventStore()
  const warnings: string[] = []
  let silent: Silent | null = null
  let answer = Promise.withResolvers<void>()
  let setAheadMs = 0
  let intruders = 0
  const quiet = async (what: Silent): Promise<void> => {
    if (silent === what) await answer.promise
  }
  const intrude = async (): Promise<void> => {
    if (intruders === 0) return
    intruders -= 1
    await executeOnLedger(runnerOn(memory), addFundsCommand(1))
  }
  const runner = openRunner({
    ...falling(memory, pacer, quiet, intrude),
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
    intrude: (times: number) => (intruders = times),
    fallSilent: (what: Silent) => (silent = what),
    /** Sends the outstanding responses, or this error instead. */
    speak: async (fault?: Error) => {
      silent = null
      if (fault === undefined) answer.resolve()
      else answer.reject(fault)
      answer = Promise.withResolvers()
      await settled()
    },
  }
}

function falling(
  memory: EventStore,
  pacer: RunnerPorts["pacer"],
  quiet: (what: Silent) => Promise<void>,
  intrude: () => Promise<void>,
): Pick<RunnerPorts, "store" | "checkpoints" | "locks"> {
  const kept = openMemoryCheckpoints()
  const turns = openMemoryLocks(pacer)
  return {
    store: {
      ...memory,
      append: async (...args) => {
        await intrude()
        await quiet("append unstored")
        const appended = await memory.append(...args)
        await quiet("append")
        return appended
      },
      read: async function* (...args: Parameters<EventStore["read"]>) {
        await quiet("read")
        yield* memory.read(...args)
      },
    },
    checkpoints: {
      ...kept,
      load: async (stream) => {
        await quiet("checkpoint")
        return kept.load(stream)
      },
    },
    locks: {
      acquire: async (name, timeoutMs) => {
        await quiet("lock")
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
/** A request's result so far: an error's name, `yes`, `no`, or null while it waits. */
function toldTo(asked: Promise<unknown>): () => string | null {
  let told: string | null = null
  asked.then(
    (outcome) => {
      const isNo = (outcome as { readonly accepted?: boolean } | undefined)?.accepted === false
      told = isNo ? "no" : "yes"
    },
    (error: Error) => (told = error.name),
  )
  return () => told
}

const isGivenUp = (warning: string) => warning.endsWith("could not be recorded")
const call = (runner: Runner) => runner.buffer(TEST_LEDGER, SERVED_CALL)
const look = (runner: Runner) => runner.read(TEST_LEDGER, accountOf)

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
      const { runner, memory, warnings, pass, fallSilent, speak } = silentBench()
      await executeOnLedger(runner, addFundsCommand(1_000))
      await call(runner)
      fallSilent(what)
      const inIt = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_in_it", 10)))
      const hurried = toldTo(
        executeOnLedger(runner, pendingChargeCommand("chg_hurried", 10), 2_000),
      )
      const refused = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_too_much", 5_000)))
      const looked = toldTo(look(runner))
      await pass(1_999)
      const behind = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_behind", 10)))
      const everybody = () => [inIt(), hurried(), refused(), looked(), behind()]
      expect(everybody()).toEqual([null, null, null, null, null])
      await pass(1)
      expect(everybody()).toEqual([null, "OutcomeUnknown", null, null, null])
      await pass(5_999)
      expect(everybody()).toEqual([null, "OutcomeUnknown", null, null, null])
      await pass(1)
      const late = ["OutcomeUnknown", "OutcomeUnknown", "DeadlinePassed", "DeadlinePassed"]
      expect(everybody()).toEqual([...late, null])
      await pass(1_999)
      expect(everybody()).toEqual([...late, "DeadlinePassed"])
      await pass(60_000)
      await speak()
      expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged", "Charged"])
      expect(await callsOf(memory)).toBe(1)
      expect((await executeOnLedger(runner, pendingChargeCommand("chg_in_it", 10))).accepted).toBe(
        true,
      )
      expect((await look(runner)).fundsMicros).toBe(980)
      expect(warnings.filter(isGivenUp)).toEqual([])
    },
  )

  it("the calls are kept as long as needed, and commands that timed out are not", async () => {
    const { runner, memory, warnings, pass, fallSilent, speak } = silentBench()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    fallSilent("append unstored")
    const told = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_1", 10)))
    await pass(500_000)
    expect(told()).toBe("OutcomeUnknown")
    await speak(new Unavailable("it was never sent"))
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 10))).accepted).toBe(true)
    expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged"])
    expect(await callsOf(memory)).toBe(1)
    expect(warnings.filter(isGivenUp)).toEqual([])
  })

  it("the calls are stored once if the store finally reports an unknown outcome", async () => {
    const { runner, memory, warnings, pass, fallSilent, speak } = silentBench()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    fallSilent("append")
    const told = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_1", 10)))
    await pass(8_000)
    expect(told()).toBe("OutcomeUnknown")
    await speak(new UnknownOutcome("the connection broke"))
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_1", 10))).accepted).toBe(true)
    expect(await typesOf(memory)).toEqual(["FundsAdded", "ApiCallsCounted", "Charged"])
    expect(warnings.filter(isGivenUp)).toEqual([])
  })

  it("callers that only count calls are turned away too, at their own deadline", async () => {
    const { runner, memory, pass, setAhead, fallSilent, speak } = silentBench()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await call(runner)
    setAhead(DAY)
    fallSilent("append")
    const first = toldTo(call(runner))
    await pass(7_999)
    expect(first()).toBe(null)
    await pass(1)
    expect(first()).toBe("DeadlinePassed")
    await speak()
    expect(await callsOf(memory)).toBe(1)
  })
})

describe("no caller waits past its deadline", () => {
  it.each(["read", "checkpoint"] as const)("for a load (%s)", async (what) => {
    const { runner, memory, pass, fallSilent, speak } = silentBench()
    fallSilent(what)
    const short = toldTo(executeOnLedger(runner, addFundsCommand(5), 100))
    const long = toldTo(executeOnLedger(runner, addFundsCommand(7)))
    const looked = toldTo(look(runner))
    await pass(100)
    expect([short(), long(), looked()]).toEqual(["DeadlinePassed", null, null])
    await pass(7_900)
    expect([long(), looked()]).toEqual(["DeadlinePassed", "DeadlinePassed"])
    await speak()
    expect((await executeOnLedger(runner, addFundsCommand(9))).view.fundsMicros).toBe(9)
    expect(await typesOf(memory)).toEqual(["FundsAdded"])
  })

  it("for the read that confirms a rejection or an empty decision", async () => {
    const { runner, memory, pass, fallSilent, speak } = silentBench()
    await executeOnLedger(runner, addFundsCommand(5))
    await executeOnLedger(runner, pendingChargeCommand("chg_1", 5))
    await pass(10)
    fallSilent("read")
    const no = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_2", 10)))
    const quiet = toldTo(executeOnLedger(runner, pendingChargeCommand("chg_1", 5), 1_000))
    await pass(1_000)
    expect([no(), quiet()]).toEqual([null, "DeadlinePassed"])
    await pass(7_000)
    expect(no()).toBe("DeadlinePassed")
    await executeOnLedger(runnerOn(memory), addFundsCommand(50))
    await speak()
    expect(await typesOf(memory)).toEqual(["FundsAdded", "Charged", "FundsAdded"])
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 10))).accepted).toBe(true)
  })

  it("for the lock that writers take turns by", async () => {
    const { runner, memory, pass, intrude, fallSilent, speak } = silentBench()
    await executeOnLedger(runner, addFundsCommand(1))
    // After two appends that conflict with another writer, writers take turns.
    intrude(2)
    fallSilent("lock")
    const told = toldTo(executeOnLedger(runner, addFundsCommand(1), 500))
    await pass(499)
    expect(told()).toBe(null)
    await pass(1)
    expect(told()).toBe("DeadlinePassed")
    await speak()
    expect(await typesOf(memory)).toHaveLength(3)
  })

  it("behind very many earlier callers", async () => {
    const { runner, pass, fallSilent, speak } = silentBench(1_000)
    fallSilent("read")
    const told: (() => string | null)[] = []
    for (let i = 0; i < 500; i += 1) {
      told.push(toldTo(executeOnLedger(runner, addFundsCommand(1))))
      await pass(1)
    }
    await pass(500)
    expect(told[0]?.()).toBe("DeadlinePassed")
    expect(told.at(-1)?.()).toBe(null)
    await pass(510)
    expect(new Set(told.map((one) => one()))).toEqual(new Set(["DeadlinePassed"]))
    await speak()
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
      `what is gathered for ${TEST_LEDGER_STREAM} is not recorded yet`,
      `what was gathered for ${TEST_LEDGER_STREAM} could not be recorded`,
    ])
  })
})
