import { describe, expect, it } from "vitest"
import { fundsMicrosOf, makeCompany, sharedWorld, type Company } from "../support/world.ts"
import {
  MESSAGES_PATH,
  chargeAmountsOf,
  newPhoneNumber,
  postText,
  GSM_SEGMENT_MICROS,
} from "./text-requests.ts"
import { PROGRAM } from "../../src/slices.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"

const world = await sharedWorld()
const company = await makeCompany(world)

/** Sends raw bytes with a content type. */
async function sendBytes(payload: string | Buffer, type = "application/json") {
  const headers = { authorization: `Bearer ${company.key}`, "content-type": type }
  const answer = await world.app.inject({ method: "POST", url: MESSAGES_PATH, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

describe("POST /phone/messages 400 bad_number", () => {
  it.for([
    ["a number without a country code", "4155550123"],
    ["letters", "+1415555CALL"],
    ["too few digits", "+1415555012"],
    ["too many digits", "+141555501234"],
    ["a word", "hello"],
    ["a character that cannot be stored", "+1415555\0"],
    ["a lone surrogate", "\ud83d"],
    ["4,000 digits", `+1415555${"0".repeat(4_000)}`],
    ["an empty string", ""],
    ["only a plus", "+"],
    ["an area code that begins with 1", "+11155550123"],
    ["an area code that begins with 0", "+10155550123"],
    ["an exchange that begins with 0", "+14150550123"],
    ["a number among other words", "+14155550123 or so"],
    ["an extension", "+14155550123 ext 5"],
    ["two numbers", "+14155550123,+14155550124"],
    ["a premium number", "+19005550123"],
    ["a landline of another country", "+442071838750"],
    ["a mobile number of a country that is not enabled", "+447400123456"],
    ["the Bahamas, which share +1", "+12425550123"],
    ["the Dominican Republic, which shares +1", "+18095550123"],
    ["a country that does not exist", "+999123456789"],
  ])("rejects %s", async ([, to]) => {
    const { status, body } = await postText(world, company.key, { to })
    expect([status, body.error]).toEqual([400, "bad_number"])
  })

  it.for([
    ["an empty body", { to: "\0", body: "" }],
    ["no body", { to: "abc" }],
    ["a body that is not a string", { to: 5, body: 5 }],
    ["a body that is too long", { to: null, body: "x".repeat(1_601) }],
  ] as const)("takes precedence over other errors: %s", async ([, text]) => {
    const { status, body } = await world.call(company.key, "POST", MESSAGES_PATH, { body: text })
    expect([status, body.error]).toEqual([400, "bad_number"])
  })

  it.for([
    ["the United States", "+14155550123"],
    ["Canada", "+16045550123"],
    ["a toll-free number", "+18005550123"],
  ])("does not reject %s", async ([, to]) => {
    const { companyId, key } = await makeCompany(world)
    expect((await postText(world, key, { to })).status).toBe(200)
    expect(await chargeAmountsOf(world, { companyId })).toHaveLength(1)
  })
})

describe("the message of a bad number", () => {
  it.for([
    [
      "local format",
      "(415) 555-0123",
      "This number is in local format. Use E.164, for example +14155550123.",
    ],
    [
      "an emergency number",
      "911",
      "This is a short or emergency number. Use a full number in E.164, for example +14155550123.",
    ],
    [
      "a short number with a country code",
      "+1911",
      "This is a short or emergency number. Use a full number in E.164, for example +14155550123.",
    ],
    [
      "a JSON number",
      14155550123,
      'The phone number must be a JSON string, for example "+14155550123".',
    ],
    [
      "too few digits",
      "+1415555012",
      "This is not a valid phone number. Use E.164, for example +14155550123.",
    ],
    [
      "a premium number",
      "+19005550123",
      "This number cannot receive texts: it is a landline or costs a premium. Use a mobile number.",
    ],
    [
      "a country that the company can enable",
      "+447400123456",
      "Texts to United Kingdom are not enabled. Enable GB with PATCH /api/v1/phone/destinations.",
    ],
    [
      "a country that support enables",
      "+18765550123",
      "Texts to Jamaica are not enabled. Ask support to enable JM.",
    ],
  ] as const)("explains what is wrong with %s", async ([, to, message]) => {
    const { status, body } = await world.call(company.key, "POST", MESSAGES_PATH, {
      body: { to, body: "Hello" },
    })
    expect([status, body.error, body.message]).toEqual([400, "bad_number", message])
  })
})

describe("POST /phone/messages 400 validation", () => {
  it.for([
    ["an empty object", {}, ["to", "body"]],
    ["no recipient", { body: "x" }, ["to"]],
    ["no body", { to: "+14155550123" }, ["body"]],
    ["an empty body", { to: "+14155550123", body: "" }, ["body"]],
    ["numbers", { body: 2, from: 3 }, ["to", "body", "from"]],
    ["nulls", { body: null, from: null }, ["to", "body", "from"]],
    ["lists and objects", { body: { text: "x" }, from: ["a"] }, ["to", "body", "from"]],
    ["only spaces", { to: "+14155550123", body: "   " }, ["body"]],
    ["spaces of every kind", { to: "+14155550123", body: " \t\r\n\u00a0\u3000\u2003" }, ["body"]],
    [
      "only invisible characters",
      { to: "+14155550123", body: "\u200b\ufeff\u202e\u2060\u3164\u2800" },
      ["body"],
    ],
    ["a lone surrogate", { to: "+14155550123", body: "\ud83d" }, ["body"]],
    ["a character that cannot be stored", { to: "+14155550123", body: "a\0b" }, ["body"]],
    ["1,601 characters", { to: "+14155550123", body: "x".repeat(1_601) }, ["body"]],
    ["1,601 emoji", { to: "+14155550123", body: "🙂".repeat(1_601) }, ["body"]],
  ] as const)("names each invalid field: %s", async ([, text, fields]) => {
    const { status, body } = await world.call(company.key, "POST", MESSAGES_PATH, { body: text })
    expect([status, body.error]).toEqual([400, "validation"])
    expect(Object.keys(body.fields).toSorted()).toEqual(fields.toSorted())
    for (const field of fields)
      expect(body.message).toContain(body.fields[field].replace(/\.$/, ""))
  })

  it("costs nothing for a text of spaces", async () => {
    const { companyId, key } = await makeCompany(world)
    expect((await postText(world, key, { body: "  \u200b" })).body.error).toBe("validation")
    expect(await chargeAmountsOf(world, { companyId })).toEqual([])
  })

  it("does not reject 1,600 emoji, because it counts characters, not UTF-16 units", async () => {
    const { key } = await makeCompany(world)
    const body = "🙂".repeat(1_600)
    expect((await postText(world, key, { body })).body.body).toContain(body)
  })

  it.for([
    ["a list", "[]"],
    ["a list of texts", '[{"to":"+14155550123","body":"x"}]'],
    ["a string", '"hello"'],
    ["a number", "7"],
    ["null", "null"],
    ["false", "false"],
    ["incomplete JSON", '{"to":'],
    ["a trailing comma", '{"to":"+14155550123","body":"x",}'],
    ["two documents", "{} {}"],
    ["NaN", "NaN"],
    ["empty", ""],
    ["50,000 nested lists", `${"[".repeat(50_000)}${"]".repeat(50_000)}`],
    ["50,000 nested objects", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`],
  ])("rejects a body that is %s", async ([, payload]) => {
    const { status, body } = await sendBytes(payload as string)
    expect([status, body.error]).toEqual([400, "validation"])
    expect(Object.keys(body.fields)).not.toEqual([])
  })

  it("rejects bytes that are not UTF-8 instead of replacing them", async () => {
    const payload = Buffer.concat([
      Buffer.from('{"to":"+14155550123","body":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ])
    const { status, body } = await sendBytes(payload)
    expect([status, body.error]).toEqual([400, "validation"])
  })

  it("ignores fields with names of object properties, such as `__proto__`", async () => {
    const payload = `{"__proto__":{"to":"${newPhoneNumber()}","body":"x"},"constructor":{}}`
    const { body } = await sendBytes(payload)
    expect(Object.keys(body.fields).toSorted()).toEqual(["body", "to"])
  })
})

describe("POST /phone/messages 415", () => {
  const payload = JSON.stringify({ to: "+14155550123", body: "x" })
  it.for([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonp",
    "text/json",
    "application/json; charset=utf-16",
    'application/json; charset="latin1"',
    ";;;",
  ])("rejects %s", async (type) => {
    const { status, body } = await sendBytes(payload, type)
    expect([status, body.error]).toEqual([415, "unsupported_media_type"])
  })

  it.for(["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"])(
    "does not reject %s",
    async (type) => {
      const { status, body } = await sendBytes('{"to":"x","body":"x"}', type)
      expect([status, body.error]).toEqual([400, "bad_number"])
    },
  )
})

describe("POST /phone/messages 409 no_number", () => {
  it("rejects a company without a number", async () => {
    const { key } = await makeCompany(world, { withNumber: false })
    const { status, body } = await postText(world, key)
    expect([status, body.error]).toEqual([409, "no_number"])
    expect(body.message).toMatch(/^The company has no number that can send texts\./)
  })

  it("rejects a number that the company does not have, by number or ID", async () => {
    const other = await makeCompany(world)
    const { from } = (await postText(world, other.key)).body
    const { numberId } = (await world.call(other.key, "GET", MESSAGES_PATH)).body.messages[0]
    for (const unknown of [from, numberId, newPhoneNumber(), "num_unknown", "", from.slice(2)]) {
      const { status, body } = await postText(world, company.key, { from: unknown })
      expect([unknown, status, body.error]).toEqual([unknown, 409, "no_number"])
      expect(body.message).toMatch(/^The number in `from` is not one of the company's/)
    }
  })
})

describe("POST /phone/messages 409 opted_out", () => {
  it("rejects a recipient whom the company opted out", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    await world.call(key, "POST", "/api/v1/phone/opt-outs", { body: { phone: to } })
    const { status, body } = await postText(world, key, { to })
    expect([status, body.error]).toEqual([409, "opted_out"])
    await world.call(key, "DELETE", "/api/v1/phone/opt-outs", { body: { phone: to } })
    expect((await postText(world, key, { to })).status).toBe(200)
  })

  it("rejects a recipient who texted STOP, until they text START", async () => {
    const { key } = await makeCompany(world)
    const to = newPhoneNumber()
    const { from } = (await postText(world, key, { to })).body
    await world.operate("carrier text-in", { from: to, to: from, body: " Stop! " })
    const { status, body } = await postText(world, key, { to })
    expect([status, body.error]).toEqual([409, "opted_out"])
    await world.operate("carrier text-in", { from: to, to: from, body: "start" })
    expect((await postText(world, key, { to })).status).toBe(200)
  })

  it("costs nothing, and does not affect other companies' texts to the recipient", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    const to = newPhoneNumber()
    await world.call(one.key, "POST", "/api/v1/phone/opt-outs", { body: { phone: to } })
    await postText(world, one.key, { to })
    expect(await fundsMicrosOf(world, one)).toBe(50_000_000)
    expect((await postText(world, other.key, { to })).status).toBe(200)
  })
})

describe("all rejections above", () => {
  it("cost nothing", async () => {
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })
})

/** The company's number, read from the answer to a text to another recipient. */
async function numberOf({ key }: Company): Promise<string> {
  return (await postText(world, key)).body.from
}

describe("a STOP and concurrent sends", () => {
  it("have one order: no text is queued after the STOP, and none is charged", async () => {
    const sender = await makeCompany(world)
    const from = await numberOf(sender)
    const to = newPhoneNumber()
    const stop = () => world.operate("carrier text-in", { from: to, to: from, body: "STOP" })
    const sends = Array.from({ length: 40 }, (_none, i) => {
      const sending = postText(world, sender.key, { to })
      return i === 20 ? Promise.all([sending, stop()]).then(([sent]) => sent) : sending
    })
    const answers = await Promise.all(sends)
    await world.operate("wait")

    const { companyId } = sender
    const stream = recipientStreamOf(companyId, await world.ports.sealing.tag(companyId, to)).stream
    const facts: string[] = []
    for await (const page of world.ports.store.read(stream)) {
      for (const { type, data } of page) {
        const isReply = data.includes('"purpose":"opt_out_reply"')
        if (type === "OptedOutByText" || (type === "TextQueued" && !isReply)) facts.push(type)
      }
    }
    expect(facts.at(-1)).toBe("OptedOutByText")
    const passed = answers.filter(({ status }) => status === 200)
    expect(facts).toHaveLength(passed.length + 1)
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect([status, body.error]).toEqual([409, "opted_out"])
    }
    expect(await fundsMicrosOf(world, sender)).toBe(
      50_000_000 - (passed.length + 1) * GSM_SEGMENT_MICROS,
    )
    const states = (await chargeAmountsOf(world, sender)).map(({ state }) => state)
    expect(states.filter((state) => state === "open")).toEqual([])
  })

  it("refund the charge and answer 409 if the STOP arrives between charge and queueing", async () => {
    const sender = await makeCompany(world)
    const from = await numberOf(sender)
    const to = newPhoneNumber()
    const { runner } = world.ports
    const execute = (async (stream, command, ...rest) => {
      if ((command as { readonly type?: string }).type === "QueueText") {
        await world.operate("carrier text-in", { from: to, to: from, body: "stop" })
      }
      return runner.execute(stream, command, ...rest)
    }) as Ports["runner"]["execute"]
    const app = await buildApp(
      { ...world.ports, runner: { ...runner, execute } },
      PROGRAM.entries,
      PROGRAM.retiredPaths,
    )
    const answer = await app.inject({
      method: "POST",
      url: MESSAGES_PATH,
      headers: { authorization: `Bearer ${sender.key}` },
      payload: { to, body: "Hello" },
    })
    await app.close()
    expect([answer.statusCode, answer.json().error]).toEqual([409, "opted_out"])
    expect(await chargeAmountsOf(world, sender)).toMatchObject([
      { state: "final" },
      { micros: GSM_SEGMENT_MICROS, state: "given_back" },
    ])
    expect(await fundsMicrosOf(world, sender)).toBe(50_000_000 - GSM_SEGMENT_MICROS)
  })
})
