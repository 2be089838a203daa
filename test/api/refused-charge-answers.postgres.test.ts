/**
 * What the answer to a failed call says about the charge: "nothing was charged" only if no request with the same
 * `Idempotency-Key` can have been charged, otherwise that the outcome is not known yet.
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
const NOTHING = /; nothing was charged\. Send the request again later\.$/
const UNKNOWN =
  /It is not known yet whether this was charged\. Send it again with the same Idempotency-Key/
const STILL_UNKNOWN =
  /^(?!.*nothing was).* An earlier request with this Idempotency-Key may have been charged\. Send it again with the same Idempotency-Key: it is charged at most once\.$/

/** A request that can be sent to different ports in turn. */
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

function without(kind: string, error: Error): Ports {
  const { runner } = world.ports
  const fail = (stream: string) => {
    if (stream.startsWith(`${kind}-`)) throw error
  }
  const read = (async (at, view) => {
    fail(at.stream)
    return runner.read(at, view)
  }) as Ports["runner"]["read"]
  return { ...world.ports, runner: { ...runner, read, readCached: read, readLatest: read } }
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
  ])("that never got its turn was not charged, and the answer says so (%s)", async (error) => {
    const { company, sendTo } = await newRequest()
    const answer = await sendTo(chargeFails(error))
    expect(answer).toMatchObject({
      status: 503,
      later: "5",
      message: expect.stringMatching(NOTHING),
    })
    expect(await chargeAmountsOf(world, company)).toEqual([])
  })

  it("whose append was under way is answered that the outcome is unknown, with its charge id", async () => {
    const { sendTo } = await newRequest()
    const answer = await sendTo(chargeFails(new OutcomeUnknown("unknown")))
    expect(answer).toMatchObject({
      status: 503,
      later: "5",
      chargeId: expect.stringMatching(/^chg_/),
    })
    expect(answer.message).toMatch(UNKNOWN)
    expect(answer.message).toMatch(
      / \(it is charged at most once\), or look up the charge by its chargeId\.$/,
    )
  })

  it("without an idempotency key is advised to look up the charge, not to send it again", async () => {
    const { sendTo } = await newRequest(false)
    expect((await sendTo(chargeFails(LATE))).message).toMatch(NOTHING)
    expect((await sendTo(without("access", LATE))).message).toMatch(NOTHING)
    const { message } = await sendTo(chargeFails(new OutcomeUnknown("unknown")))
    expect(message).toBe(
      "It is not known yet whether this was charged. Look up the charge by its chargeId before you " +
        "send it again.",
    )
  })

  it("that certainly did not happen leaves no unknown outcome for the next", async () => {
    const { sendTo } = await newRequest()
    await sendTo(chargeFails(LATE))
    expect((await sendTo(chargeFails(LATE))).message).toMatch(NOTHING)
    expect((await sendTo(world.ports)).status).toBe(200)
  })
})

describe("a retry of a request with an unknown outcome", () => {
  const lost = Object.assign(new Error("terminating connection"), { code: "57P01" })
  const noClaims = () => ({ ...world.ports.idempotency, claim: () => Promise.reject(lost) })
  const stages: readonly (readonly [string, () => Ports, RegExp])[] = [
    ["its key is checked", () => without("access", LATE), STILL_UNKNOWN],
    ["it is claimed", () => ({ ...world.ports, idempotency: noClaims() }), STILL_UNKNOWN],
    ["its earlier text is looked up", () => portsWithoutRecipients(world, LATE), UNKNOWN],
    ["its company is read", () => without("ledger", LATE), STILL_UNKNOWN],
    ["its charge is queued", () => chargeFails(LATE), STILL_UNKNOWN],
    ["the ledger's time is read", () => chargeFails(new ClockUnsure("no time")), STILL_UNKNOWN],
    ["too many calls wait", () => chargeFails(new Overloaded("too many")), STILL_UNKNOWN],
  ]

  it.for(stages)("keeps the unknown outcome if it fails while %s", async ([, ports, pattern]) => {
    const { company, sendTo } = await newRequest()
    const unknown = new OutcomeUnknown("unknown")
    const isStored = pattern === UNKNOWN
    await sendTo(
      portsFailingAt(world, { step: "Charge", when: isStored ? "after" : "before" }, unknown),
    )
    const again = await sendTo(ports())
    expect([again.status, again.later]).toEqual([503, "5"])
    expect(again.message).toMatch(pattern)
    expect(again.message).not.toMatch(/nothing was/)
    expect((await sendTo(world.ports)).status).toBe(200)
    const charges = await chargeAmountsOf(world, company)
    expect(charges.filter(({ state }) => state !== "given_back")).toHaveLength(1)
  })
})

describe("a call that is rejected because the server is overloaded", () => {
  const call = { requestId: "req_1", isKeyed: true, mayHaveRun: true }

  it.for([
    ["charge", true, STILL_UNKNOWN],
    ["charge", false, NOTHING],
    [
      "purchase",
      true,
      /An earlier request with this Idempotency-Key may have been paid\. .*paid at/,
    ],
    ["purchase", false, /; nothing was paid\./],
    [null, false, /^Too many calls are waiting\. Send the request again later\.$/],
  ] as const)(
    "(%s, may have run: %s) is answered with what is certain",
    ([paymentKind, mayHaveRun, pattern]) => {
      const { error, message } = overloadedRefusal({ ...call, paymentKind, mayHaveRun })
      expect([error, message]).toEqual(["overloaded", expect.stringMatching(pattern)])
    },
  )
})

describe("the answer to a call that charges nothing", () => {
  it("does not mention charges", async () => {
    const { key } = await makeCompany(world)
    const answer = await callWithPorts(without("access", LATE), key, "GET", "/api/v1/people")
    expect(answer.body).toMatchObject({
      error: "unavailable",
      message: "The ledger cannot be reached right now. Send the request again later.",
    })
  })
})

describe("503", () => {
  it("with Retry-After answers a call that lost its database connection; nothing is charged", async () => {
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
