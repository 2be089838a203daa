import type { Pool } from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, ProposedEvent } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import { Dishonest } from "../benchmark.ts"
import { watchAnswers } from "./acknowledged.ts"
import { openCompany, reopenCompany } from "./company.ts"
import { flushMicroseconds } from "./flush.ts"
import { openGround } from "./ground.ts"
import { checkOnDisk } from "./on-disk.ts"

const SIZE = { people: 1, keys: 1 }
const { signal } = new AbortController()

/** A ground whose runner writes to one store, while what is looked at is another. */
function groundOn(written: EventStore, watched = watchAnswers(written)) {
  const runner = openRunner({
    store: watched.store,
    checkpoints: openMemoryCheckpoints(),
    clock: { now: () => Date.now() },
    pacer: machinePacer,
    locks: openMemoryLocks(machinePacer),
    warn: (message, error) => expect.unreachable(`${message}: ${String(error)}`),
  })
  return { ...watched, runner }
}

const isCharge = ({ type }: ProposedEvent) => type === "Charged"

describe("a stream read again after the run", () => {
  it("has every charge that was acknowledged", async () => {
    const { runner, ...ground } = groundOn(openMemoryEventStore())
    const company = await openCompany(ground, runner, SIZE)
    await company.fill(runner, 20, signal)
    expect(company.charges()).toBe(20)
    await expect(company.check(runner)).resolves.toBeUndefined()
  })

  it("shows a charge that the store lost", async () => {
    const honest = openMemoryEventStore()
    const { runner, ...ground } = groundOn(honest)
    const forgetful: EventStore = {
      ...honest,
      read: async function* (stream, range) {
        let lost = false
        for await (const page of honest.read(stream, range)) {
          const kept = page.filter((event) => lost || !isCharge(event))
          lost = true
          yield kept
        }
      },
    }
    const company = await openCompany({ ...ground, store: forgetful }, runner, SIZE)
    await company.fill(runner, 5, signal)
    await expect(company.check(runner)).rejects.toThrow(Dishonest)
  })

  it("shows a charge that nobody was told of", async () => {
    const { runner, ...ground } = groundOn(openMemoryEventStore())
    const company = await openCompany(ground, runner, SIZE)
    await company.charge(runner)
    const other = await reopenCompany(ground, company.stream, SIZE)
    await other?.charge(runner)
    await expect(company.check(runner)).rejects.toThrow("1 told yes, 2 Charged events")
  })

  it("shows a yes that has no charge", async () => {
    const { runner, ...ground } = groundOn(openMemoryEventStore())
    const company = await openCompany(ground, runner, SIZE)
    await company.charge(runner)
    company.noteAccepted()
    await expect(company.check(runner)).rejects.toThrow("2 told yes, 1 Charged events")
  })
})

describe("a company of a run before", () => {
  it("goes on where it was, with other charges", async () => {
    const { runner, ...ground } = groundOn(openMemoryEventStore())
    const first = await openCompany(ground, runner, SIZE)
    await first.fill(runner, 3, signal)
    const again = await reopenCompany(ground, first.stream, SIZE)
    await again?.fill(runner, 4, signal)
    expect(again?.charges()).toBe(7)
    await expect(again?.check(runner)).resolves.toBeUndefined()
  })

  it("is none where it was not opened to the end", async () => {
    const { runner: _runner, ...ground } = groundOn(openMemoryEventStore())
    expect(await reopenCompany(ground, "ledger-co_nobody", SIZE)).toBeNull()
  })
})

describe("an acknowledgement", () => {
  it("before the store's ends the run", async () => {
    const watched = watchAnswers(openMemoryEventStore())
    const { runner } = groundOn(openMemoryEventStore())
    // The runner's own store says yes, the one that is watched never does.
    const company = await openCompany(watched, runner, SIZE)
    await expect(company.charge(runner)).rejects.toThrow("told yes before the store said it")
  })

  it("is for what the store answered, and no further", async () => {
    const { store, wasToldAfterStore } = watchAnswers(openMemoryEventStore())
    const charged = (chargeId: string) => ({
      id: crypto.randomUUID(),
      type: "Charged",
      metadata: "{}",
      data: JSON.stringify({ chargeId }),
    })
    const events = ["one", "two", "three", "four", "five"].map(charged)
    const { position } = await store.append("some-stream", events, -1)
    await store.append("twin-stream", [charged("one")], -1)
    const later = { commit: position.commit + 1n, prepare: position.prepare + 1n }
    expect(() => wasToldAfterStore("some-stream", position, "one")).not.toThrow()
    expect(() => wasToldAfterStore("some-stream", later, "two")).toThrow(Dishonest)
    expect(() => wasToldAfterStore("some-stream", null, "three")).toThrow(Dishonest)
    expect(() => wasToldAfterStore("other-stream", position, "four")).toThrow(Dishonest)
    // At the place of what is stored, and of a charge that is not, or was told of already.
    expect(() => wasToldAfterStore("some-stream", position, "six")).toThrow(Dishonest)
    expect(() => wasToldAfterStore("some-stream", position, "one")).toThrow(Dishonest)
    expect(() => wasToldAfterStore("some-stream", position, "five")).not.toThrow()
    // Another ledger's charge of the same id is another charge.
    expect(() => wasToldAfterStore("twin-stream", position, "one")).not.toThrow()
  })

  it("before the disk has it ends the run, whatever connection it went by", async () => {
    const ground = await openGround({ store: "postgres" })
    onTestFinished(() => ground.close())
    await ground.pool.query("create table public.acknowledged (at integer)")
    const appendBy = (pool: Pick<Pool, "query">) => () =>
      pool.query("insert into public.acknowledged values (1)")
    await expect(checkOnDisk(ground.pool, appendBy(ground.pool))).resolves.toBeUndefined()
    const early = checkOnDisk(ground.pool, appendBy(ground.behind))
    await expect(early).rejects.toThrow("acknowledged before the disk had it")
  })
})

describe("the flush", () => {
  /** A database with these settings. */
  const databaseWith = (settings: Readonly<Record<string, string>>) => {
    const query = async (_asked: unknown, values: readonly string[] = []) => {
      return { rows: [{ value: settings[values[0] ?? ""] }] }
    }
    return { connect: async () => ({ query, release: () => undefined }) }
  }

  it("is measured where commits wait for the disk", async () => {
    const database = databaseWith({ fsync: "on", synchronous_commit: "on" })
    expect(await flushMicroseconds(database)).toBeGreaterThan(0)
  })

  it.for([
    ["fsync", { fsync: "off", synchronous_commit: "on" }],
    ["synchronous_commit", { fsync: "on", synchronous_commit: "off" }],
  ] as const)("is none without %s", async ([name, settings]) => {
    await expect(flushMicroseconds(databaseWith(settings))).rejects.toThrow(`${name} is off`)
  })
})
