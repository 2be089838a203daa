import { describe, expect, it } from "vitest"
import { fundsMicrosOf, makeCompany, ownWorld } from "../support/world.ts"
import {
  OPT_OUT_SUFFIX,
  GSM_SEGMENT_MICROS,
  MESSAGES_PATH,
  chargeAmountsOf,
  newPhoneNumber,
  postText,
} from "./text-requests.ts"

const world = await ownWorld("settings")

describe("sending a text", () => {
  it("queues and sends it, settles its charge and lists it", async () => {
    const { key, companyId } = await makeCompany(world)
    const to = newPhoneNumber()
    const sent = await postText(world, key, { to })
    expect(sent.status).toBe(200)
    expect(sent.headers["ledger-position"]).toMatch(/^[0-9a-z]+$/)
    expect(sent.headers["content-type"]).toBe("application/json; charset=utf-8")
    await world.operate("wait")
    const list = await world.call(key, "GET", MESSAGES_PATH)
    expect(list.body.messages).toMatchObject([
      { id: sent.body.id, status: "sent", direction: "out" },
    ])
    const credits = await world.call(key, "GET", "/api/v1/credits")
    expect(credits.body.balance).toBe(49.991)
    expect(await chargeAmountsOf(world, { companyId })).toEqual([
      { micros: GSM_SEGMENT_MICROS, state: "final" },
    ])
    const audit = await world.operate("audit verify", { company: companyId })
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })

  it("returns id, status, from, to and body, and no other field", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    const { body } = await postText(world, key, { to })
    expect(body).toEqual({
      id: expect.stringMatching(/^msg_[0-9A-Za-z]{22}$/),
      status: "queued",
      from: expect.stringMatching(/^\+1\d{10}$/),
      to,
      body: `Hello${OPT_OUT_SUFFIX}`,
    })
  })

  it("gives identical texts different IDs and separate charges", async () => {
    const company = await makeCompany(world)
    const to = newPhoneNumber()
    const first = await postText(world, company.key, { to })
    const second = await postText(world, company.key, { to })
    expect(second.body.id).not.toBe(first.body.id)
    expect(await chargeAmountsOf(world, company)).toHaveLength(2)
  })

  it("accepts a number with spaces and parentheses, and returns E.164", async () => {
    const { key } = await makeCompany(world)
    const { body } = await postText(world, key, { to: " +1 (415) 555-0199 " })
    expect(body.to).toBe("+14155550199")
  })

  it("preserves every character of the body", async () => {
    const { key } = await makeCompany(world)
    const text = "\t STOP ✋🏽 \u202e\u0001 <b>&amp;</b> \\ \"'\n"
    const { body } = await postText(world, key, { body: text })
    expect(body.body).toBe(text)
    const { messages } = (await world.call(key, "GET", MESSAGES_PATH)).body
    expect(messages[0].body).toBe(text)
  })

  it("ignores unknown fields", async () => {
    const { key } = await makeCompany(world)
    const sent = await postText(world, key, { media: ["https://example.com/a.png"], id: "mine" })
    expect(sent.status).toBe(200)
    expect(Object.keys(sent.body)).toEqual(["id", "status", "from", "to", "body"])
  })
})

describe("the opt-out line", () => {
  it("is added only to the first text to a recipient", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    expect((await postText(world, key, { to })).body.body).toBe(`Hello${OPT_OUT_SUFFIX}`)
    expect((await postText(world, key, { to })).body.body).toBe("Hello")
    expect((await postText(world, key, { to: newPhoneNumber() })).body.body).toBe(
      `Hello${OPT_OUT_SUFFIX}`,
    )
  })

  it("is added once per company", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    const to = newPhoneNumber()
    expect((await postText(world, one.key, { to })).body.body).toBe(`Hello${OPT_OUT_SUFFIX}`)
    expect((await postText(world, other.key, { to })).body.body).toBe(`Hello${OPT_OUT_SUFFIX}`)
  })

  it("is left out if the body mentions STOP, and is not added to later texts either", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    const body = "Reply stop to end."
    expect((await postText(world, key, { to, body })).body.body).toBe(body)
    expect((await postText(world, key, { to })).body.body).toBe("Hello")
  })

  it("is added to a body that has the letters only within another word", async () => {
    const { key } = await makeCompany(world)
    const { body } = await postText(world, key, { body: "Nonstop sale" })
    expect(body.body).toBe(`Nonstop sale${OPT_OUT_SUFFIX}`)
  })

  it("is added to exactly one of two concurrent first texts, and only that one pays for it", async () => {
    const company = await makeCompany(world)
    const to = newPhoneNumber()
    // The body alone fills one segment; with the line it takes two.
    const body = "x".repeat(160)
    const both = await Promise.all([1, 2].map(() => postText(world, company.key, { to, body })))
    const bodies = both.map((one) => one.body.body).toSorted((a, b) => a.length - b.length)
    expect(bodies).toEqual([body, body + OPT_OUT_SUFFIX])
    await world.operate("wait")
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - 3 * GSM_SEGMENT_MICROS)
  })
})

describe("the price", () => {
  const first = 160 - OPT_OUT_SUFFIX.length
  it.for([
    ["GSM that fills one segment", "x".repeat(first), 1],
    ["GSM that the line pushes into a second", "x".repeat(first + 1), 2],
    ["two whole GSM segments", "x".repeat(306 - OPT_OUT_SUFFIX.length), 2],
    ["two GSM segments and one character", "x".repeat(307 - OPT_OUT_SUFFIX.length), 3],
    ["an extension character, which takes two septets", `${"x".repeat(first - 1)}€`, 2],
    ["UCS-2 that fills one segment", "ж".repeat(70 - OPT_OUT_SUFFIX.length), 1],
    ["UCS-2 that the line pushes into a second", "ж".repeat(71 - OPT_OUT_SUFFIX.length), 2],
    ["an emoji, which takes two units", `${"x".repeat(70 - OPT_OUT_SUFFIX.length - 2)}🙂`, 1],
    ["an emoji and one unit too many", `${"x".repeat(70 - OPT_OUT_SUFFIX.length - 1)}🙂`, 2],
  ] as const)("includes the opt-out line: %s", async ([, body, segments]) => {
    const company = await makeCompany(world)
    expect((await postText(world, company.key, { body })).status).toBe(200)
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - segments * GSM_SEGMENT_MICROS)
  })
})

describe("the field from", () => {
  it("selects the company's number, by number or by ID", async () => {
    const { key } = await makeCompany(world)
    const { from } = (await postText(world, key)).body
    const { numberId } = (await world.call(key, "GET", MESSAGES_PATH)).body.messages[0]
    expect((await postText(world, key, { from })).body.from).toBe(from)
    expect((await postText(world, key, { from: numberId })).body.from).toBe(from)
    const spaced = `${from.slice(0, 2)} ${from.slice(2)}`
    expect((await postText(world, key, { from: spaced })).body.from).toBe(from)
  })
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("402 payment_required", () => {
  it("names the price, the funds and the request that adds funds", async () => {
    const { key } = await makeCompany(world, { funds: "0.004" })
    const { status, body } = await postText(world, key)
    expect(status).toBe(402)
    expect(body).toEqual({
      error: "payment_required",
      message: "This request costs $0.009; the company has $0.004 in funds. Add funds.",
      needed: 0.009,
      balance: 0.004,
      pay: {
        method: "POST",
        url: "http://ledger.test/api/v1/credits",
        headers: {
          "Idempotency-Key": expect.stringMatching(UUID),
        },
        instructions:
          "An owner must turn on Add funds for this key before it can buy; then send this " +
          "request with the same API key.",
        body: { amount: 5 },
        alternatives: ["sharedPaymentToken"],
      },
      // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
      then: "After the payment, send the original request again.",
    })
  })

  it("names a new Idempotency-Key each time", async () => {
    const { key } = await makeCompany(world, { funds: "0" })
    const answers = await Promise.all([1, 2, 3].map(() => postText(world, key)))
    const idempotencyKeys = answers.map(({ body }) => body.pay.headers["Idempotency-Key"])
    expect(new Set(idempotencyKeys).size).toBe(3)
  })

  it("names the full price, for all segments including the line", async () => {
    const { key } = await makeCompany(world, { funds: "0.009" })
    const { status, body } = await postText(world, key, { body: "x".repeat(160) })
    expect([status, body.needed, body.balance]).toEqual([402, 0.018, 0.009])
  })

  it("rejects exactly those of many concurrent texts that exceed the funds", async () => {
    const company = await makeCompany(world, { funds: "0.045" })
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => postText(world, company.key)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(25)
    expect(await fundsMicrosOf(world, company)).toBe(0)
  })
})

describe("402 while the account is locked", () => {
  it("has no pay block, and applies to every counted route except the credits", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("company lock", { company: companyId })
    const text = await postText(world, key)
    const list = await world.call(key, "GET", "/api/v1/phone/messages")
    const optOuts = await world.call(key, "GET", "/api/v1/phone/opt-outs")
    for (const { status, body } of [text, list, optOuts]) {
      expect(status).toBe(402)
      expect(Object.keys(body)).toEqual(["error", "message"])
      expect(body.error).toBe("payment_required")
      expect(body.message).toContain("locked")
    }
    expect((await world.call(key, "GET", "/api/v1/credits")).status).toBe(200)
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
    await world.operate("company unlock", { company: companyId })
    expect((await postText(world, key)).status).toBe(200)
  })
})

describe("402 needs_managed_plan", () => {
  it("rejects texts without a card, and allows reads", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card remove", { company: companyId })
    const { status, body } = await postText(world, key)
    expect([status, body.error]).toEqual([402, "needs_managed_plan"])
    expect(Object.keys(body)).toEqual(["error", "message"])
    for (const url of ["/api/v1/phone/messages", "/api/v1/phone/opt-outs", "/api/v1/credits"]) {
      expect((await world.call(key, "GET", url)).status).toBe(200)
    }
  })

  it("rejects texts while the card fails", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card set", { company: companyId, verified: true, failing: true })
    expect((await postText(world, key)).body.error).toBe("needs_managed_plan")
    await world.operate("card set", { company: companyId, verified: true, failing: false })
    expect((await postText(world, key)).status).toBe(200)
  })

  it("does not require a verified card", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card set", { company: companyId, verified: false })
    expect((await postText(world, key)).status).toBe(200)
  })
})
