/**
 * The queue that keeps one stream's commands in order, on the memory store with faults on demand.
 * What it promises is in `src/run.ts`; each promise is a test here.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import type { Checkpoints } from "../../adapters/checkpoints/port.ts"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { accountOf, ledgerStream, openCharges } from "../../domain/charging/ledger.ts"
import type { LedgerCommand } from "../../domain/charging/ledger.ts"
import { LEDGER } from "../../src/aggregates.ts"
import { NO_HASH, causedBy, expectedHash, readMetadata } from "../../src/envelope.ts"
import { openRunner } from "../../src/run.ts"
import type { Runner } from "../../src/run.ts"

const STREAM = ledgerStream("co_aaaaaa")
const START = Date.UTC(2026, 10, 21, 12)

/** A pacer whose time passes only by pausing. */
function virtualPacer() {
  let elapsed = 0
  return {
    elapsedMs: () => elapsed,
    pause: async (ms: number) => {
      elapsed += ms
      await new Promise(setImmediate)
    },
  }
}

interface Bench {
  readonly store: EventStore
  readonly runner: Runner
  readonly warnings: string[]
  readonly checkpoints: Checkpoints
  readonly again: () => Runner
}

/** A runner over any store, with its own checkpoints unless some are given. */
function runnerOn(store: EventStore, checkpoints: Checkpoints = openMemoryCheckpoints()): Runner {
  const clock = { now: () => START }
  return openRunner({ store, checkpoints, clock, pacer: virtualPacer(), warn: () => undefined })
}

function bench(faults: (attempt: number) => AppendFault = () => "none"): Bench {
  let attempts = 0
  const store = openMemoryEventStore({
    faults: () => {
      attempts += 1
      return faults(attempts)
    },
  })
  const warnings: string[] = []
  const checkpoints = openMemoryCheckpoints()
  const again = () =>
    openRunner({
      store,
      checkpoints,
      clock: { now: () => START },
      pacer: virtualPacer(),
      warn: (message) => warnings.push(message),
    })
  return { store, runner: again(), warnings, checkpoints, again }
}

async function execute(runner: Runner, command: LedgerCommand, deadlineMs?: number) {
  const execution = { cause: causedBy("test"), view: accountOf }
  return runner.execute(
    LEDGER,
    STREAM,
    command,
    deadlineMs === undefined ? execution : { ...execution, deadlineMs },
  )
}

function addFunds(amountMicros: number): LedgerCommand {
  return { type: "AddFunds", amountMicros, reference: null }
}

function charge(chargeId: string, amountMicros: number): LedgerCommand {
  return {
    type: "Charge",
    chargeId,
    via: "company",
    keyId: null,
    personId: null,
    class: "general",
    item: "test",
    quantity: 1,
    unitPriceMicros: amountMicros,
    priceVersion: 1,
    amountMicros,
    resource: null,
    requestedAt: START,
    dueAt: null,
    servedFrom: null,
    open: true,
    exempt: null,
  }
}

async function stored(store: EventStore): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of store.read(STREAM)) events.push(...page)
  return events
}

describe("a batch", () => {
  it("stores the facts of callers of one moment with one append, in their order", async () => {
    let appends = 0
    const { runner, store } = bench(() => {
      appends += 1
      return "none"
    })
    await Promise.all([1, 2, 3].map((amount) => execute(runner, addFunds(amount))))
    expect(appends).toBe(1)
    expect((await stored(store)).map(({ data }) => JSON.parse(data).amountMicros)).toEqual([
      "1",
      "2",
      "3",
    ])
  })

  it("decides each command on the state of those before it, so a limit of funds is never passed", async () => {
    const { runner, store } = bench()
    await execute(runner, addFunds(100))
    const tries = Array.from({ length: 50 }, (_, i) => execute(runner, charge(`chg_${i}`, 10)))
    const outcomes = await Promise.all(tries)
    expect(outcomes.filter((outcome) => outcome.accepted)).toHaveLength(10)
    expect((await stored(store)).filter(({ type }) => type === "Charged")).toHaveLength(10)
  })

  it("chains every stored fact to the one before it by hash", async () => {
    const { runner, store } = bench()
    await execute(runner, addFunds(5))
    await Promise.all([execute(runner, addFunds(6)), execute(runner, addFunds(7))])
    let previous = NO_HASH
    for (const event of await stored(store)) {
      const { hash } = readMetadata(event.metadata)
      expect(hash).toBe(expectedHash(event, previous))
      previous = hash
    }
    expect(previous).not.toBe(NO_HASH)
  })

  it("rejects a command that cannot be written down and carries the others out", async () => {
    const { runner } = bench()
    const bad = execute(runner, charge("not plain \u0000", 0))
    const good = execute(runner, addFunds(1))
    await expect(bad).rejects.toThrow(/plain text/)
    expect((await good).view.fundsMicros).toBe(1)
  })
})

describe("an answer", () => {
  it("comes only after the store said yes", async () => {
    const { store } = bench()
    let acknowledged = false
    const slow: EventStore = {
      ...store,
      append: async (...args) => {
        const answer = await store.append(...args)
        await new Promise(setImmediate)
        acknowledged = true
        return answer
      },
    }
    const patient = runnerOn(slow)
    const no = execute(patient, charge("chg_no", 7)).then(() => acknowledged)
    const yes = execute(patient, addFunds(3)).then(() => acknowledged)
    const noBehind = execute(patient, charge("chg_behind", 7)).then(() => acknowledged)
    expect(await Promise.all([yes, noBehind])).toEqual([true, true])
    expect(await no).toBe(true)
  })

  it("names the place of the stream's last fact, also where nothing new was recorded", async () => {
    const { runner } = bench()
    await execute(runner, addFunds(50))
    const first = await execute(runner, charge("chg_a", 5))
    const again = await execute(runner, charge("chg_a", 5))
    expect(again).toMatchObject({ accepted: true, facts: [] })
    expect(first.accepted && again.accepted && again.position).toEqual(
      first.accepted && first.position,
    )
  })
})

describe("an unknown outcome", () => {
  it.each(["stored-unknown", "unstored-unknown"] as const)(
    "that was %s ends in the fact stored once",
    async (fault) => {
      const { runner, store } = bench((attempt) => (attempt === 1 ? fault : "none"))
      expect((await execute(runner, addFunds(9))).view.fundsMicros).toBe(9)
      expect(await stored(store)).toHaveLength(1)
    },
  )

  it("past the deadline is told as unknown, and the next load finds the truth", async () => {
    let broken = true
    const { runner, store } = bench((attempt) => {
      if (!broken) return "none"
      return attempt === 1 ? "stored-unknown" : "unavailable"
    })
    await expect(execute(runner, addFunds(9), 500)).rejects.toMatchObject({
      name: "OutcomeUnknown",
    })
    broken = false
    expect((await execute(runner, addFunds(1))).view.fundsMicros).toBe(10)
    expect(await stored(store)).toHaveLength(2)
  })

  it("is resolved by reading where another writer came after it", async () => {
    const other = bench()
    let intruded = false
    const store: EventStore = {
      ...other.store,
      append: async (stream, events, expected) => {
        if (intruded) return other.store.append(stream, events, expected)
        intruded = true
        await other.store.append(stream, events, expected)
        await execute(other.runner, addFunds(1))
        throw new UnknownOutcome("the connection broke")
      },
    }
    const runner = runnerOn(store)
    expect((await execute(runner, addFunds(40))).accepted).toBe(true)
    const amounts = (await stored(other.store)).map(({ data }) => JSON.parse(data).amountMicros)
    expect(amounts).toEqual(["40", "1"])
  })
})

describe("a store that is away", () => {
  it("is waited for, and nothing is lost", async () => {
    const { runner, store } = bench((attempt) => (attempt <= 3 ? "unavailable" : "none"))
    expect((await execute(runner, addFunds(9))).view.fundsMicros).toBe(9)
    expect(await stored(store)).toHaveLength(1)
  })

  it("for longer than the deadline turns callers away, with nothing stored", async () => {
    let away = true
    const { runner, store } = bench(() => (away ? "unavailable" : "none"))
    await expect(execute(runner, addFunds(9), 100)).rejects.toMatchObject({
      name: "DeadlinePassed",
    })
    away = false
    expect(await stored(store)).toHaveLength(0)
  })
})

describe("another writer of the same stream", () => {
  it("makes a batch be decided again from the store's truth", async () => {
    const one = bench()
    await execute(one.runner, addFunds(10))
    const two = one.again()
    expect((await execute(two, charge("chg_1", 8))).accepted).toBe(true)
    // The first runner's state does not know of that charge yet.
    const late = await execute(one.runner, charge("chg_2", 8))
    expect(late.accepted).toBe(false)
  })

  it("never leads to more than the funds being spent, with two writers racing", async () => {
    const one = bench()
    await execute(one.runner, addFunds(100))
    const two = one.again()
    const tries = Array.from({ length: 40 }, (_, i) =>
      execute(i % 2 === 0 ? one.runner : two, charge(`chg_${i}`, 10)),
    )
    const accepted = (await Promise.all(tries)).filter((outcome) => outcome.accepted)
    const charged = (await stored(one.store)).filter(({ type }) => type === "Charged")
    expect(accepted.length).toBe(charged.length)
    expect(charged.length).toBe(10)
  })
})

describe("a checkpoint", () => {
  it("is kept, and loading from it gives the same state as folding everything", async () => {
    const { runner, store, checkpoints } = bench()
    await execute(runner, addFunds(1_000_000))
    for (let i = 0; i < 450; i += 1) await execute(runner, charge(`chg_${i}`, 1))
    await runner.close()
    const readFrom: (number | undefined)[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        readFrom.push(range?.from)
        return store.read(stream, range)
      },
    }
    const fromCheckpoint = runnerOn(watched, checkpoints)
    const fromStart = runnerOn(store)
    expect(await fromCheckpoint.look(LEDGER, STREAM, openCharges)).toEqual(
      await fromStart.look(LEDGER, STREAM, openCharges),
    )
    expect((await fromCheckpoint.look(LEDGER, STREAM, accountOf)).fundsMicros).toBe(999_550)
    expect(readFrom).toEqual([450])
  })

  it("that cannot be kept is warned about and changes nothing", async () => {
    const { store } = bench()
    const warnings: string[] = []
    const runner = openRunner({
      store,
      checkpoints: {
        load: async () => null,
        save: async () => {
          throw new Error("no room")
        },
      },
      clock: { now: () => START },
      pacer: virtualPacer(),
      warn: (message) => warnings.push(message),
    })
    await execute(runner, addFunds(5))
    await runner.close()
    expect(warnings).toEqual([`no checkpoint was kept for ${STREAM}`])
  })

  it("of another history is not believed", async () => {
    const { store, runner } = bench()
    await execute(runner, addFunds(5))
    const liar = openRunner({
      store,
      checkpoints: {
        load: async () => ({
          revision: 0,
          hash: "f".repeat(64),
          shape: LEDGER.checkpoint.shape,
          saved: LEDGER.checkpoint.save(LEDGER.decider.initial()),
        }),
        save: async () => undefined,
      },
      clock: { now: () => START },
      pacer: virtualPacer(),
      warn: () => undefined,
    })
    expect((await liar.look(LEDGER, STREAM, accountOf)).fundsMicros).toBe(5)
  })
})

describe("under seeded faults", () => {
  it("no acknowledged fact is lost and none is stored twice", async () => {
    const faults: readonly AppendFault[] = [
      "none",
      "none",
      "stored-unknown",
      "unstored-unknown",
      "unavailable",
    ]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...faults), { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 25 }),
        async (script, amounts) => {
          const { runner, store } = bench((attempt) => script[attempt - 1] ?? "none")
          const outcomes = await Promise.allSettled(
            amounts.map((amount) => execute(runner, addFunds(amount), 1e9)),
          )
          expect(outcomes.every((outcome) => outcome.status === "fulfilled")).toBe(true)
          const kept = (await stored(store)).map(({ data }) =>
            Number(JSON.parse(data).amountMicros),
          )
          expect(kept).toEqual(amounts)
        },
      ),
      { numRuns: 100 },
    )
  })
})
