/**
 * What a caller is told of their money when a call cannot be served: that nothing was charged, only
 * where no request with the same `Idempotency-Key` can have been charged; else that it is not known.
 */
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { overloadedRefusal } from "../../src/frame/routes/answers/error-refusals.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import { DeadlinePassed, Overloaded } from "../../src/frame/writer/runner/port.ts"
import { MESSAGES_PATH, chargeAmountsOf, newPhoneNumber } from "../phone/text-requests.ts"
import { makeCompany, sharedWorld, callWithPorts } from "../support/world.ts"
import {
  portsFailingAt,
  newIdempotencyKey,
  portsWithoutRecipients,
} from "./interrupted-requests.ts"

const world = await sharedWorld({ calls: "free" })

const LATE = new DeadlinePassed("too late")
const NOTHING = /; nothing was charged\. Send it again later\.$/
const UNKNOWN =
  /It is not known yet whether this was charged\. Send it again with the same Idempotency-Key/
const STILL_UNKNOWN =
  /^(?!.*nothing was).* it is not known yet whether an earlier request with this Idempotency-Key was charged\. Send it again with the same Idempotency-Key: it is charged at most once, and you get the answer that was stored/

/** A request that is sent to one set of ports after another. */
async function newRequest(named = true) {
  const company = await makeCompany(world)
  const body = { to: newPhoneNumber(), body: "Hello" }
  const sent = named ? { body, headers: { "idempotency-key": newIdempotencyKey() } } : { body }
  const sendTo = async (ports: Ports) => {
    const answer = await callWithPorts(ports, company.key, "POST", MESSAGES_PATH, sent)
    return { ...answer.body, status: answer.status, later: answer.headers["retry-after"] }
  }
  return { company, sendTo }
}

/** Ports whose runner tells everybody this who asks for a stream of this kind. */
function without(kind: string, error: Error): Ports {
  const { runner } = world.ports
  const fail = (stream: string) => {
    if (stream.startsWith(`${kind}-`)) throw error
  }
  const look = (async (at, view) => {
    fail(at.stream)
    return runner.read(at, view)
  }) as Ports["runner"]["read"]
  return { ...world.ports, runner: { ...runner, read: look, readCached: look, readLatest: look } }
}

const chargeFails = (error: Error) =>
  portsFailingAt(world, { step: "Charge", when: "before" }, error)

describe("a first request", () => {
  it.for([
    LATE,
    new Unavailable("away"),
    new ClockUnsure("no time"),
    new Overloaded("too many"),
    Object.assign(new Error("terminating connection"), { code: "57P01" }),
  ])("that waited in vain for its turn was not charged, and is told so (%s)", async (error) => {
    const { company, sendTo } = await newRequest()
    const told = await sendTo(chargeFails(error))
    expect(told).toMatchObject({ status: 503, later: "5", message: expect.stringMatching(NOTHING) })
    expect(await chargeAmountsOf(world, company)).toEqual([])
  })

  it("whose append was under way is told that nobody knows, and its charge", async () => {
    const { sendTo } = await newRequest()
    const told = await sendTo(chargeFails(new OutcomeUnknown("nobody knows")))
    expect(told).toMatchObject({
      status: 503,
      later: "5",
      chargeId: expect.stringMatching(/^chg_/),
    })
    expect(told.message).toMatch(UNKNOWN)
    expect(told.message).toMatch(/or look the charge up by its chargeId\.$/)
  })

  it("without a key is told to look, not to send the same key again", async () => {
    const { sendTo } = await newRequest(false)
    expect((await sendTo(chargeFails(LATE))).message).toMatch(NOTHING)
    expect((await sendTo(without("access", LATE))).message).toMatch(NOTHING)
    const { message } = await sendTo(chargeFails(new OutcomeUnknown("nobody knows")))
    expect(message).toBe(
      "It is not known yet whether this was charged. Look the charge up by its chargeId before you " +
        "send it again.",
    )
  })

  it("that was let go as certainly not done leaves nothing in doubt for the next", async () => {
    const { sendTo } = await newRequest()
    await sendTo(chargeFails(LATE))
    expect((await sendTo(chargeFails(LATE))).message).toMatch(NOTHING)
    expect((await sendTo(world.ports)).status).toBe(200)
  })
})

describe("a request whose first outcome nobody knew, sent again", () => {
  const lost = Object.assign(new Error("terminating connection"), { code: "57P01" })
  const noClaims = () => ({ ...world.ports.idempotency, claim: () => Promise.reject(lost) })
  const places: readonly (readonly [string, () => Ports, RegExp])[] = [
    ["at its key", () => without("access", LATE), STILL_UNKNOWN],
    ["at its claim", () => ({ ...world.ports, idempotency: noClaims() }), STILL_UNKNOWN],
    ["where it looks for what was done", () => portsWithoutRecipients(world, LATE), UNKNOWN],
    ["at its company", () => without("ledger", LATE), STILL_UNKNOWN],
    ["in the queue of its charge", () => chargeFails(LATE), STILL_UNKNOWN],
    ["for the ledger's time", () => chargeFails(new ClockUnsure("no time")), STILL_UNKNOWN],
    ["behind too many", () => chargeFails(new Overloaded("too many")), STILL_UNKNOWN],
  ]

  it.for(places)("and kept waiting in vain %s: it is still not known", async ([, ports, said]) => {
    const { company, sendTo } = await newRequest()
    const doubt = new OutcomeUnknown("nobody knows")
    const isThere = said === UNKNOWN
    await sendTo(
      portsFailingAt(world, { step: "Charge", when: isThere ? "after" : "before" }, doubt),
    )
    const again = await sendTo(ports())
    expect([again.status, again.later]).toEqual([503, "5"])
    expect(again.message).toMatch(said)
    expect(again.message).not.toMatch(/nothing was/)
    expect((await sendTo(world.ports)).status).toBe(200)
    const charges = await chargeAmountsOf(world, company)
    expect(charges.filter(({ state }) => state !== "given_back")).toHaveLength(1)
  })
})

describe("a call that is turned away at the door", () => {
  const asked = { requestId: "req_1", isKeyed: true, mayHaveRun: true }

  it.for([
    ["charge", true, STILL_UNKNOWN],
    ["charge", false, NOTHING],
    ["purchase", true, /whether an earlier request with this Idempotency-Key was paid\. .*paid at/],
    ["purchase", false, /; nothing was paid\./],
    [null, false, /^Too many calls are waiting\. Send it again later\.$/],
  ] as const)(
    "(%s, perhaps done: %s) is told no more than is known",
    ([paymentKind, mayHaveRun, said]) => {
      const { error, message } = overloadedRefusal({ ...asked, paymentKind, mayHaveRun })
      expect([error, message]).toEqual(["overloaded", expect.stringMatching(said)])
    },
  )
})

describe("a call that charges nothing", () => {
  it("is told nothing of charges", async () => {
    const { key } = await makeCompany(world)
    const answer = await callWithPorts(without("access", LATE), key, "GET", "/api/v1/people")
    expect(answer.body).toMatchObject({
      error: "unavailable",
      message: "The ledger cannot be reached right now. Send it again later.",
    })
  })
})

describe("503", () => {
  it("with Retry-After answers a call whose database connection was lost, and charges nothing", async () => {
    const { key, companyId } = await makeCompany(world)
    const lost = Object.assign(new Error("terminating connection"), { code: "57P01" })
    const idempotency = { ...world.ports.idempotency, claim: () => Promise.reject(lost) }
    const answer = await callWithPorts(
      { ...world.ports, idempotency },
      key,
      "POST",
      MESSAGES_PATH,
      {
        body: { to: "+14155550123", body: "hello" },
        headers: { "idempotency-key": "lost" },
      },
    )
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"])
    expect(answer.body).toMatchObject({ error: "unavailable" })
    const { rows } = await sql<{ charged: number }>`
      select count(*) as charged from eventstore.events
      where stream = ${`ledger-${companyId}`} and type = 'Charged'`.execute(world.ports.readAll)
    expect(rows[0]?.charged).toBe(0)
  })
})
