import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Payer } from "../../src/frame/routes/answers/charge-refusals.ts"
import { chargeRefusal } from "../../src/frame/routes/answers/charge-refusals.ts"
import { refusalBody } from "../../src/frame/routes/answers/refusal.ts"
import { withRequestDeadline } from "../../src/frame/routes/call-progress.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import {
  TEST_LEDGER,
  addFundsCommand,
  executeOnLedger,
  virtualPacer,
} from "../writer/runner-fixture.ts"
import { partialFake } from "../support/partial-fake.ts"

const refused: ChargeRefused = {
  type: "ChargeRefused",
  at: Date.UTC(2026, 10, 21),
  code: "payment_required",
  chargeId: "chg_1",
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  quantity: 1,
  unitPriceMicros: 9_000,
  priceVersion: 1,
  amountMicros: 9_000,
  resource: null,
  requestedAt: 0,
  dueAt: null,
  servedFrom: null,
  isPending: true,
  exemption: null,
  ledgerRevision: 1,
  fundsMicros: 0,
  creditLineMicros: 0,
  prepaidOnly: false,
  unrecordedMicros: 0,
  limits: [],
  refusingLimit: null,
}

const payer: Payer = { canBuy: true, baseUrl: "http://ledger.test" }

const bodyFor = (changed: Partial<ChargeRefused>) =>
  refusalBody(chargeRefusal({ ...refused, ...changed }, payer))

it("400 validation names an amount that is too large, and the largest total", () => {
  const amountMicros = Number.MAX_SAFE_INTEGER - 1
  expect(bodyFor({ code: "amount_too_large", amountMicros })).toMatchObject({
    error: "validation",
    message:
      "The amount, $9007199254.74099, is too large: no total of the ledger can exceed $9007199254.740991.",
  })
})

describe("402 payment_required", () => {
  it.each([
    ["one micro short asks for the smallest purchase", 8_999, 5],
    ["exactly $7 short asks for $7", 9_000 - 7_000_000, 7],
    ["a micro over $7 asks for $8", 9_000 - 7_000_001, 8],
    ["more than the largest purchase asks for the largest purchase", -9_000_000_000, 5_000],
  ])("%s", (_name, fundsMicros, amount) => {
    expect(bodyFor({ fundsMicros })).toMatchObject({ pay: { body: { amount } } })
  })

  it.each([true, false])(
    "says whether the key can pay (%s) or an owner must allow it",
    (canBuy) => {
      const body = refusalBody(chargeRefusal(refused, { ...payer, canBuy }))
      const instructions = expect.stringMatching(
        canBuy ? /^Send this/ : /^An owner must/,
      ) as unknown
      expect(body).toMatchObject({
        pay: { url: "http://ledger.test/api/v1/credits", instructions },
      })
    },
  )

  it("shows a call without a payer no way to pay", () => {
    expect(refusalBody(chargeRefusal(refused, null))).not.toHaveProperty("pay")
  })

  it("shows a prepaid-only company no way to pay", () => {
    expect(bodyFor({})).toHaveProperty("pay")
    const body = bodyFor({ prepaidOnly: true })
    expect(body).toMatchObject({ error: "payment_required", needed: 0.009, balance: 0 })
    expect(body).not.toHaveProperty("pay")
    expect(body).not.toHaveProperty("then")
  })
})

describe("503 overloaded", () => {
  it("says when to retry if too many charges are pending", () => {
    const refusal = chargeRefusal({ ...refused, code: "too_many_open_charges" }, payer)
    expect(refusal.status).toBe(503)
    expect(refusal.headers).toEqual({ "retry-after": "5" })
  })
})

const CALL = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
const PRICE = { unitPriceMicros: 100, priceVersion: 1 }

/** Ports whose event store takes `slowMs` for each read. */
function bench() {
  const pacer = virtualPacer()
  const memory = openMemoryEventStore()
  const store = { slowMs: 0 }
  const runner = openRunner({
    store: {
      ...memory,
      read: async function* (...args: Parameters<typeof memory.read>) {
        await pacer.pause(store.slowMs)
        yield* memory.read(...args)
      },
    },
    checkpoints: openMemoryCheckpoints(),
    locks: openMemoryLocks(pacer),
    clock: { now: () => Date.UTC(2026, 10, 21, 12) },
    pacer,
    warn: (message, error) => expect.unreachable(`${message} ${String(error)}`),
    deadlineMs: 1_000,
  })
  const ports = partialFake<Ports>({ runner })
  return { pacer, store, request: () => withRequestDeadline(ports).runner }
}

const ways: readonly (readonly [
  string,
  (runner: Runner, ledger: typeof TEST_LEDGER) => Promise<unknown>,
])[] = [
  ["a read", (runner, ledger) => runner.read(ledger, accountOf)],
  ["a read of the latest state", (runner, ledger) => runner.readLatest(ledger, accountOf)],
  ["a cached read", (runner, ledger) => runner.readCached(ledger, accountOf)],
  ["a counted call", (runner, ledger) => runner.buffer(ledger, { ...CALL, ...PRICE })],
]

describe("a request that has waited", () => {
  it.each(ways)(
    "has less time left for %s; other requests have all of theirs",
    async (_name, ask) => {
      const { store, request } = bench()
      store.slowMs = 700
      const one = request()
      await ask(one, ledgerStreamOf("co_1"))
      await expect(ask(one, ledgerStreamOf("co_2"))).rejects.toThrow("took too long")
      await ask(request(), ledgerStreamOf("co_3"))
    },
  )

  it("has less time left for a command, even if the command has a longer deadline", async () => {
    const { store, request } = bench()
    store.slowMs = 700
    for (const deadlineMs of [undefined, 60_000]) {
      const one = request()
      await one.read(ledgerStreamOf(`co_${deadlineMs}`), accountOf)
      await expect(executeOnLedger(one, addFundsCommand(5), deadlineMs)).rejects.toThrow(
        "took too long",
      )
    }
    expect((await executeOnLedger(request(), addFundsCommand(5))).accepted).toBe(true)
  })

  it("writes nothing after its deadline", async () => {
    const { store, request } = bench()
    await executeOnLedger(request(), addFundsCommand(5))
    const one = request()
    store.slowMs = 1_500
    await expect(one.read(ledgerStreamOf("co_1"), accountOf)).rejects.toThrow("took too long")
    store.slowMs = 0
    await expect(executeOnLedger(one, addFundsCommand(5))).rejects.toThrow("took too long")
    expect((await request().read(TEST_LEDGER, accountOf)).fundsMicros).toBe(5)
  })

  it("has all of its time left if it waited for something other than the runner", async () => {
    const { pacer, request } = bench()
    const one = request()
    await one.read(TEST_LEDGER, accountOf)
    pacer.advance(60_000)
    expect((await executeOnLedger(one, addFundsCommand(5))).accepted).toBe(true)
  })
})
