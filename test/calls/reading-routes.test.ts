/** What holds of every route that reads: own writes at once, waiting for a place, saying what is old. */
import { PROGRAM } from "../../src/slices.ts"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PLANS } from "../../domain/access/access-events.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { tokenOf } from "../../src/frame/calls/position-token.ts"
import { buy } from "../credits/buying.ts"
import { optIn } from "../phone/opted-in.ts"
import { makeKey, newNumber, sendText } from "../phone/texting.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { callApp, makeCallsFree, makeCompany, openWorld } from "../support/world.ts"
import { rightRequest } from "../support/right-requests.ts"

let world: World
/** Another process on the same database. */
let other: World
let company: Company
beforeAll(async () => {
  world = await openWorld()
  other = await openWorld({ url: world.databaseUrl })
  await makeCallsFree(world)
  company = await makeCompany(world)
  await world.operate("key change", {
    ...{ keyId: company.keyId, addFundsPerPurchase: "60", addFundsPerMonth: "5000" },
  })
})
afterAll(async () => {
  await other.close()
  await world.close()
})

/** A change and what a route shows of it. */
interface Reading {
  /** Writes, by the API where a key can; resolves with what is shown from then on. */
  readonly write: () => Promise<unknown>
  readonly shown: (body: ApiAnswer["body"]) => unknown
}

let releases = 0
let people = 1
let optOuts = 0
let optIns = 0
let limits = 0
let references = 0

/** By the route's name. A new route that reads has no row here, and fails the tests until it has. */
const READINGS: Readonly<Record<string, Reading>> = {
  "GET /api/v1/people": {
    write: async () => {
      await makeKey(world, company)
      people += 1
      return people
    },
    shown: (body) => body.people.length,
  },
  "GET /api/v1/phone/messages": {
    write: async () => (await sendText(world, company.key)).body.id,
    shown: (body) => body.messages.at(-1)?.id,
  },
  "GET /api/v1/phone/opt-outs": {
    write: async () => {
      const body = { phone: newNumber() }
      await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body })
      optOuts += 1
      return optOuts
    },
    shown: (body) => body.optOuts.length,
  },
  "GET /api/v1/phone/optins": {
    write: async () => {
      optIns += 1
      await optIn(world, company, newNumber(), { optInId: `opt_${optIns}` })
      // Nothing that a key can do writes it so far.
      await world.operate("wait")
      return optIns
    },
    shown: (body) => body.optins.length,
  },
  "GET /api/v1/credits": {
    write: async () => (await buy(world, company.key, 5)).body.balance,
    shown: (body) => body.balance,
  },
  "GET /api/v1/affiliate": {
    write: async () => {
      await world.operate("affiliate join", { company: company.companyId })
      return true
    },
    shown: (body) => body.joined,
  },
  "GET /api/v1/account": {
    write: async () => {
      const version = await publish()
      const { balance } = (await buy(world, company.key, 5)).body
      const plan = PLANS[releases % PLANS.length]
      await world.operate("company change", { company: company.companyId, plan })
      return [version, Math.round(balance * 1e6), plan]
    },
    shown: (body) => [body.latest, body.balanceMicros, body.plan],
  },
  "GET /api/v1/updates": {
    write: () => publish(),
    shown: (body) => body.updates.at(-1)?.version,
  },
  "GET /api/v1/billing/lines": {
    write: async () => (await buy(world, company.key, 5)).body.purchaseId,
    shown: (body) => body.lines.at(-1)?.resource,
  },
  "GET /api/v1/refusals": {
    write: async () => {
      const poor = await makeKey(world, company)
      await world.operate("limit set", {
        ...{ company: company.companyId, key: poor.keyId, period: "day", dollars: "0.001" },
      })
      await sendText(world, poor.key)
      // The evidence is kept behind the back of whoever was refused.
      await world.operate("wait")
      people += 1
      return poor.keyId
    },
    shown: (body) => body.refusals[0]?.keyId,
  },
  "GET /api/v1/limits": {
    write: async () => {
      limits += 1
      await world.operate("limit set", {
        ...{ company: company.companyId, class: "ai", period: "month", dollars: `${limits}` },
      })
      return limits * 1_000_000
    },
    shown: (body) => body.limits[0]?.amountMicros,
  },
  "GET /api/v1/ledger/events": {
    write: async () => {
      references += 1
      const reference = `own ${references}`
      await world.operate("funds add", { company: company.companyId, dollars: "1", reference })
      return reference
    },
    // A text of an earlier test may be closed behind it, at any time.
    shown: (body) =>
      body.events
        .filter(({ type }: { type: string }) => type === "FundsAdded")
        .map(({ data }: { data: string }) => JSON.parse(data).reference)
        .at(-1),
  },
}

async function publish(): Promise<string> {
  releases += 1
  const version = `2.${releases}.0`
  await world.operate("release publish", { version, notes: "Better", channel: "stable" })
  return version
}

/** A file waits for its lines by itself: it is whole or refused, and never old. */
const READING_ROUTES = PROGRAM.routes
  .filter(({ method, files }) => method === "GET" && files === undefined)
  .map((route) => ({
    name: `${route.method} ${route.url}`,
    url: `${rightRequest(route).path}${rightRequest(route).query}`,
    reads: route.reads ?? [],
  }))
const readingOf = (name: string) => READINGS[name] as Reading

async function headToken(): Promise<string> {
  return tokenOf(await world.ports.store.head(), 0)
}

const readAt = (from: World, key: string, url: string, position: string) =>
  from.call(key, "GET", url, { headers: { "ledger-position": position } })

describe("every route that reads", () => {
  it("has a change that it shows", () => {
    expect(Object.keys(READINGS)).toEqual(READING_ROUTES.map(({ name }) => name))
  })
})

describe.for(READING_ROUTES)("$name", ({ name, url, reads }) => {
  it("shows one's own write at once", async () => {
    for (let i = 0; i < 3; i += 1) {
      const wanted = await readingOf(name).write()
      const { status, headers, body } = await world.call(company.key, "GET", url)
      expect([status, readingOf(name).shown(body)]).toEqual([200, wanted])
      expect(headers["ledger-stale"]).toBeUndefined()
    }
  })

  it("shows in another process what was written at the place it is given", async () => {
    for (let i = 0; i < 3; i += 1) {
      // Whatever it remembers of before.
      await other.call(company.key, "GET", url)
      const wanted = await readingOf(name).write()
      const { status, headers, body } = await readAt(other, company.key, url, await headToken())
      expect([status, readingOf(name).shown(body)]).toEqual([200, wanted])
      expect(headers["ledger-stale"]).toBeUndefined()
    }
  })

  it("waits two seconds for its read models, and says that it may be old where that is too short", async () => {
    await sendText(world, company.key)
    const head = await world.ports.store.head()
    const waits: (readonly unknown[])[] = []
    const waitFor = async (...wait: readonly unknown[]) => {
      waits.push(wait)
      return false
    }
    const projector = { ...world.ports.projector, waitFor }
    const app = await buildApp({ ...world.ports, projector }, PROGRAM.entries, PROGRAM.retired)
    const requested = { headers: { "ledger-position": tokenOf(head, 0) } }
    const { status, headers } = await callApp(app, company.key, "GET", url, requested)
    await app.close()
    const isWaiting = reads.length > 0
    expect([status, headers["ledger-stale"]]).toEqual([200, isWaiting ? "true" : undefined])
    expect(waits).toEqual(isWaiting ? [[head, 2_000, reads]] : [])
  })

  it("refuses a place beyond the head, and what is none", async () => {
    const { commit } = await world.ports.store.head()
    const beyond = tokenOf({ commit: commit + 1_000_000n, prepare: commit + 1_000_000n }, 0)
    for (const position of [beyond, "no place"]) {
      const { status, body } = await readAt(world, company.key, url, position)
      expect([status, body.error, Object.keys(body.fields)]).toEqual([
        ...[400, "validation"],
        ["Ledger-Position"],
      ])
    }
  })
})
