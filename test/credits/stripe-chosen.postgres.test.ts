/** An installation with Stripe as its payment processor. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import { findPurchase } from "../../projections/charging/purchases.ts"
import { cardSettings } from "../../src/credits/providers/cards.ts"
import { listSettings, readConfig } from "../../src/bootstrap/settings/config.ts"
import { runServer } from "../../src/bootstrap/serve/server.ts"
import { openLog } from "../../src/frame/kernel/log.ts"
import { buyFunds, getCredits, expectSoundAudit, makeBuyer } from "./buy-funds.ts"
import { testDatabase } from "../support/test-database.ts"
import { makeCallsFree, openWorld, ownWorld } from "../support/world.ts"
import type { StripeBehavior } from "./stripe-server.ts"
import { startStripeServer } from "./stripe-server.ts"

const KEY = "sk_test_of_a_simulator"

describe("payments by Stripe", async () => {
  const server = await startStripeServer()
  afterAll(server.close)
  const settings = { CARDS_STRIPE_KEY: KEY, CARDS_STRIPE_URL: server.url }
  const world = await ownWorld("settings", { settings })
  server.now = () => world.ports.clock.now()
  const company = await makeBuyer(world, "0", { perPurchase: "500", perMonth: "1000" })
  await world.operate("card page", { company: company.companyId })
  server.customers.set(company.companyId, "pm_card")

  it("require a price for API calls", async () => {
    const free = { item: "api_call", dollars: "0" }
    await expect(world.operate("price set", free)).rejects.toMatchObject({ code: "conflict" })
    expect(await world.operate("price set", { ...free, dollars: "0.0001" })).toMatchObject({
      changed: false,
    })
  })

  it("are made once", async () => {
    server.nextBehavior = "paid"
    const { status, body } = await buyFunds(world, company.key, 20, "one")
    expect([status, body]).toMatchObject([200, { status: "paid", paymentId: "pi_1", balance: 20 }])
    expect((await buyFunds(world, company.key, 20, "one")).body).toEqual(body)
    expect(server.intents).toHaveLength(1)
  })

  it.for([
    ["declined", 402],
    ["needs_owner", 402],
    ["unavailable", 503],
  ] as const)("are rejected: %s", async ([outcome, expected]) => {
    server.nextBehavior = outcome
    const { status, body } = await buyFunds(world, company.key, 20)
    expect([status, body.error]).toEqual([expected, outcome])
  })

  it("answer 503 while Stripe rejects every order, and succeed afterwards", async () => {
    server.nextBehavior = "misconfigured"
    const { balance } = await getCredits(world, company.key)
    const { status, body } = await buyFunds(world, company.key, 20, "rejected")
    expect([status, body.error]).toEqual([503, "unavailable"])
    const readiness = async () => (await world.app.inject("/readyz")).body
    await expect.poll(readiness).toMatch(/^warn cards ProviderMisconfigured$/m)
    server.nextBehavior = "paid"
    const again = await buyFunds(world, company.key, 20, "rejected")
    expect([again.status, again.body]).toMatchObject([200, { balance: balance + 20 }])
    await expect.poll(readiness).toMatch(/^ok cards$/m)
  })

  it("are checked by Stripe's id", async () => {
    const { companyId, key } = company
    server.nextBehavior = "processing"
    const { body } = await buyFunds(world, key, 20, "under way")
    const { paymentId } = body
    expect(await getCredits(world, key)).toMatchObject({ pending: 20 })
    const found = await findPurchase(world.ports.readAll, companyId, body.purchaseId)
    expect(found).toMatchObject({ state: "pending", payment_id: paymentId })
    const intent = server.intents.find(({ id }) => id === paymentId)
    if (intent !== undefined) intent.status = "succeeded"
    const before = server.requests.length
    await world.operate("clock advance", { duration: "1m" })
    const calls = server.requests.slice(before).map(({ call }) => call)
    expect(calls).toEqual([`GET /v1/payment_intents/${paymentId}`])
    expect((await buyFunds(world, key, 20, "under way")).body).toMatchObject({
      status: "paid",
      paymentId,
    })
  })

  it("end with Stripe's outcome if the answers were lost, while its search is an hour behind", async () => {
    const { companyId } = company
    server.isDroppingResponses = true
    const outcomes = ["paid", "declined", "needs_owner", "processing", "halted", "paid"] as const
    const sent: { readonly outcome: StripeBehavior; readonly purchaseId: string }[] = []
    for (const [i, outcome] of [...outcomes, ...outcomes].entries()) {
      server.nextBehavior = outcome
      const token = i < outcomes.length ? {} : { sharedPaymentToken: `spt_${i}` }
      const { status, body } = await buyFunds(world, company.key, 5, undefined, token)
      expect([status, body.status]).toEqual([202, "unconfirmed"])
      sent.push({ outcome, purchaseId: body.purchaseId })
    }
    server.isDroppingResponses = false
    for (const intent of server.intents) {
      if (intent.status === "processing") intent.status = "succeeded"
    }
    await world.operate("clock advance", { duration: "1m" })
    await world.operate("clock advance", { duration: "10m" })
    await world.operate("wait")
    const expected = { halted: "payment_failed", processing: "paid" } as Readonly<
      Record<string, string>
    >
    for (const { outcome, purchaseId } of sent) {
      const found = await findPurchase(world.ports.readAll, companyId, purchaseId as PurchaseId)
      const intent = server.intents.find(({ metadata }) => metadata["payment"] === purchaseId)
      expect([outcome, found?.code ?? found?.state]).toEqual([
        outcome,
        expected[outcome] ?? outcome,
      ])
      expect(found?.payment_id).toBe(intent?.id)
    }
    expect(server.requests.filter(({ call }) => call.includes("search"))).toEqual([])
  })

  it("are unavailable if the company has a card and no recorded customer", async () => {
    server.nextBehavior = "paid"
    const unrecorded = await makeBuyer(world)
    const { status, body } = await buyFunds(world, unrecorded.key, 20)
    expect([status, body.error]).toEqual([503, "unavailable"])
    const { companyId } = unrecorded
    await world.operate("card page", { company: companyId })
    server.customers.set(companyId, "pm_card")
    expect((await buyFunds(world, unrecorded.key, 20)).status).toBe(200)
  })

  it("are found if Stripe did not answer", async () => {
    server.nextBehavior = "silent"
    const { balance } = await getCredits(world, company.key)
    const { status, body } = await buyFunds(world, company.key, 20, "another")
    expect([status, body.status]).toEqual([202, "unconfirmed"])
    server.nextBehavior = "paid"
    await world.operate("clock advance", { duration: "1m" })
    expect(await getCredits(world, company.key)).toMatchObject({
      balance: balance + 20,
      pending: 0,
    })
  })

  it("pass the audit", () => expectSoundAudit(world))

  it("have no outcome set by an operator", async () => {
    const { companyId } = company
    const setting = world.operate("card set", { company: companyId, outcome: "declined" })
    await expect(setting).rejects.toThrow("--outcome is for the simulated one")
    const card = await world.operate("card set", { company: companyId, verified: true })
    expect(card).toEqual({ companyId, card: { verified: true, failing: false } })
  })
})

describe("a server with CARDS_STRIPE_KEY", () => {
  it("does not start if API calls are free, until they have a price", async () => {
    const { url: databaseUrl, drop } = await testDatabase()
    onTestFinished(drop)
    const before = await openWorld("start", { url: databaseUrl })
    await makeCallsFree(before)
    await before.close()
    const folder = await mkdtemp(join(tmpdir(), "ledger-stripe-"))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const env = {
      LEDGER_DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      PORT: "0",
      CARDS_STRIPE_KEY: KEY,
      LEDGER_SIMULATED: "all",
      LOG_LEVEL: "silent",
    }
    const started = async () => {
      const lines: string[] = []
      const stopping = new AbortController()
      const say = (line: string) => {
        lines.push(line)
        stopping.abort()
      }
      const log = openLog("silent")
      const { signal } = stopping
      const config = readConfig(env)
      const code = await runServer({ config, settings: [], demo: false, log, say, signal })
      return [code, lines[0]]
    }
    await expect(started()).rejects.toThrow(/^CARDS_STRIPE_KEY is set .* price set api_call/)
    const after = await openWorld("start", {
      url: databaseUrl,
      settings: { CARDS_STRIPE_KEY: KEY, CARDS_STRIPE_URL: "http://x" },
    })
    await after.operate("price set", { item: "api_call", dollars: "0.0001" })
    await after.close()
    expect(await started()).toEqual([0, expect.stringMatching(/^company-ledger listens on/)])
  })
})

describe("CARDS_STRIPE_KEY", () => {
  it("selects Stripe, and is never shown", () => {
    expect(readConfig({}).settings(cardSettings)).toEqual({})
    const url = "https://stripe.example"
    const chosen = { CARDS_STRIPE_KEY: KEY, CARDS_STRIPE_URL: url }
    const env = { ...chosen, LEDGER_SIMULATED: "all" }
    expect(readConfig(env).settings(cardSettings)).toEqual(chosen)
    expect(JSON.stringify(listSettings(env))).not.toContain(KEY)
  })

  it.for([
    [{ CARDS_STRIPE_KEY: "pk_live_x" }, "CARDS_STRIPE_KEY must be a secret key of Stripe"],
    [{ CARDS_STRIPE_KEY: KEY, CARDS_STRIPE_URL: "stripe" }, "CARDS_STRIPE_URL must be an address"],
    [{ CARDS_STRIPE_KEY: KEY, LEDGER_CLOCK: "test" }, "LEDGER_CLOCK cannot be test"],
  ] as const)("is rejected: %j", ([env, words]) => {
    expect(() => readConfig(env)).toThrow(words)
  })
})
