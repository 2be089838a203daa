import { createHash } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request } from "node:http"
import { json } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { MESSAGES_PATH, chargeAmountsOf, newPhoneNumber, postText } from "../phone/text-requests.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import {
  fundsMicrosOf,
  makeCompany,
  makeKey,
  openWorld,
  ownWorld,
  setLimit,
} from "../support/world.ts"
import { canonicalJson } from "../../src/frame/kernel/envelope.ts"
import { idempotencyClaimOf, newIdempotencyKey } from "./interrupted-requests.ts"

const world = await ownWorld("start")

/** Sends a text with an idempotency key and returns the answer byte by byte. */
async function sendBytes(key: string, idempotencyKey: string, payload: string) {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "idempotency-key": idempotencyKey,
  }
  const answer = await world.app.inject({ method: "POST", url: MESSAGES_PATH, headers, payload })
  const { "x-request-id": _name, date: _date, ...rest } = answer.headers
  return { status: answer.statusCode, headers: rest, text: answer.payload }
}

describe("the same key and body", () => {
  it("get the same bytes and Ledger-Position again, with one charge and one text", async () => {
    const company = await makeCompany(world)
    const name = newIdempotencyKey()
    const payload = JSON.stringify({ to: newPhoneNumber(), body: "Hello" })
    const first = await sendBytes(company.key, name, payload)
    expect([first.status, first.headers["idempotency-replayed"]]).toEqual([200, undefined])
    for (let i = 0; i < 3; i += 1) {
      const again = await sendBytes(company.key, name, payload)
      expect(again.headers["idempotency-replayed"]).toBe("true")
      expect(again.text).toBe(first.text)
      const { "idempotency-replayed": _replayed, ...headers } = again.headers
      expect(headers).toEqual(first.headers)
    }
    expect(await chargeAmountsOf(world, company)).toHaveLength(1)
    const { messages } = (await world.call(company.key, "GET", MESSAGES_PATH)).body
    expect(messages).toHaveLength(1)
  })

  it("are recognized by a hash that requires the installation's key", async () => {
    const company = await makeCompany(world)
    const body = { to: newPhoneNumber(), body: "Hello" }
    const name = newIdempotencyKey()
    await sendBytes(company.key, name, JSON.stringify(body))
    const plain = createHash("sha256").update(`POST\n${MESSAGES_PATH}\n${canonicalJson(body)}`)
    const unkeyedHash = plain.digest("hex")
    const stored = await queryRows<{ fingerprint: string }>(
      world.databaseUrl,
      `select fingerprint from ledger.idempotent_requests where idempotency_key = '${name}'`,
    )
    expect(stored).toEqual([{ fingerprint: expect.not.stringContaining(unkeyedHash) as string }])
  })

  it("match a body with other whitespace, escapes and order of fields", async () => {
    const company = await makeCompany(world)
    const name = newIdempotencyKey()
    const to = newPhoneNumber()
    const first = await sendBytes(company.key, name, `{"to":"${to}","body":"a\\u0062"}`)
    const again = await sendBytes(company.key, name, `{ "body" : "ab",\n "to" : "${to}" }`)
    expect(again.text).toBe(first.text)
    expect(await chargeAmountsOf(world, company)).toHaveLength(1)
  })

  it("get the same answer after a restart", async () => {
    let here = await openWorld("start")
    try {
      const company = await makeCompany(here)
      const headers = { "idempotency-key": newIdempotencyKey() }
      const text = { to: newPhoneNumber() }
      const first = await postText(here, company.key, text, headers)
      here = await here.restart()
      const again = await postText(here, company.key, text, headers)
      expect(again.headers["idempotency-replayed"]).toBe("true")
      expect(again.body).toEqual(first.body)
      expect(await fundsMicrosOf(here, company)).toBe(49_991_000)
    } finally {
      await here.close()
    }
  })

  it("are not checked or rejected again if limits, card or account have changed since", async () => {
    const company = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    const first = await postText(world, company.key, text, headers)
    const { companyId, key, keyId } = company
    await world.call(key, "POST", "/api/v1/phone/opt-outs", { body: { phone: text.to } })
    await setLimit(world, company, { key: keyId, period: "day", dollars: "0" })
    await world.operate("card remove", { company: companyId })
    await world.operate("company lock", { company: companyId })
    const again = await postText(world, key, text, headers)
    expect([again.status, again.body]).toEqual([200, first.body])
    await world.operate("key pause", { keyId })
    expect((await postText(world, key, text, headers)).status).toBe(401)
  })

  it("make one charge in fifty concurrent calls; the others are replayed or still running", async () => {
    const company = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => postText(world, company.key, text, headers)),
    )
    const sent = answers.filter(({ status }) => status === 200)
    const fresh = sent.filter(({ headers: one }) => one["idempotency-replayed"] === undefined)
    expect(fresh).toHaveLength(1)
    expect(new Set(sent.map(({ body }) => body.id)).size).toBe(1)
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect([status, body.error]).toEqual([409, "conflict"])
    }
    expect(await chargeAmountsOf(world, company)).toHaveLength(1)
    expect((await postText(world, company.key, text, headers)).body).toEqual(fresh[0]?.body)
  })
})

describe("the same key and another body", () => {
  it("are rejected with 409 idempotency_conflict and change nothing", async () => {
    const company = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    const first = await postText(world, company.key, text, headers)
    for (const other of [
      { ...text, body: "Bye" },
      { to: newPhoneNumber() },
      { ...text, more: 1 },
    ]) {
      const { status, body } = await postText(world, company.key, other, headers)
      expect([status, body.error]).toEqual([409, "idempotency_conflict"])
    }
    expect((await postText(world, company.key, text, headers)).body).toEqual(first.body)
    expect(await chargeAmountsOf(world, company)).toHaveLength(1)
  })

  it("are two requests if two API keys send them", async () => {
    const company = await makeCompany(world)
    const other = await makeKey(world, company)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    const first = await postText(world, company.key, text, headers)
    const second = await postText(world, other.key, text, headers)
    expect(second.headers["idempotency-replayed"]).toBeUndefined()
    expect(second.body.id).not.toBe(first.body.id)
  })
})

describe("an idempotency key is free again", () => {
  it("after a 402: once funds are added, the same request is charged once", async () => {
    const company = await makeCompany(world, { funds: "0" })
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    expect((await postText(world, company.key, text, headers)).status).toBe(402)
    expect((await postText(world, company.key, text, headers)).status).toBe(402)
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    const sent = await postText(world, company.key, text, headers)
    expect([sent.status, sent.headers["idempotency-replayed"]]).toEqual([200, undefined])
    expect((await postText(world, company.key, text, headers)).body).toEqual(sent.body)
    expect(await chargeAmountsOf(world, company)).toHaveLength(1)
  })

  it("after a 429, before or at the charge", async () => {
    const company = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const text = { to: newPhoneNumber() }
    for (const dollars of ["0", "0.001"]) {
      await setLimit(world, company, { dollars })
      expect((await postText(world, company.key, text, headers)).status).toBe(429)
    }
    await setLimit(world, company, { dollars: "1" })
    expect((await postText(world, company.key, text, headers)).status).toBe(200)
  })

  it("after a 409 opted_out", async () => {
    const { key } = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const to = newPhoneNumber()
    const optOut = { body: { phone: to } }
    await world.call(key, "POST", "/api/v1/phone/opt-outs", optOut)
    expect((await postText(world, key, { to }, headers)).body.error).toBe("opted_out")
    await world.call(key, "DELETE", "/api/v1/phone/opt-outs", optOut)
    expect((await postText(world, key, { to }, headers)).status).toBe(200)
  })

  it("after a 400: the key can then be sent with a corrected body", async () => {
    const { key } = await makeCompany(world)
    const name = newIdempotencyKey()
    const broken = await sendBytes(key, name, '{"to":')
    expect(broken.status).toBe(400)
    const headers = { "idempotency-key": name }
    expect((await postText(world, key, { to: "hello" }, headers)).status).toBe(400)
    expect((await postText(world, key, {}, headers)).status).toBe(200)
  })

  it("after a 403", async () => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { operations: ["phone.messages.read"] })
    const name = newIdempotencyKey()
    expect((await postText(world, key, {}, { "idempotency-key": name })).status).toBe(403)
    expect((await idempotencyClaimOf(world, name))?.state).toBe("free")
  })
})

describe("an invalid Idempotency-Key", () => {
  it.for([
    ["empty", ""],
    ["256 characters", "k".repeat(256)],
    ["beyond ASCII", "schlüssel"],
    ["a control character", "a\tb"],
  ] as const)("is rejected with 400: %s", async ([, name]) => {
    const company = await makeCompany(world)
    const { status, body } = await postText(world, company.key, {}, { "idempotency-key": name })
    expect([status, body.error]).toEqual([400, "validation"])
    expect(Object.keys(body.fields)).toEqual(["Idempotency-Key"])
    expect(await chargeAmountsOf(world, company)).toEqual([])
  })

  it("is rejected after the checks of key, account and permissions", async () => {
    const company = await makeCompany(world)
    const headers = { "idempotency-key": "" }
    expect((await postText(world, `${company.key}x`, {}, headers)).status).toBe(401)
    const { key } = await makeKey(world, company, { operations: ["phone.messages.read"] })
    expect((await postText(world, key, {}, headers)).status).toBe(403)
    await world.operate("card remove", { company: company.companyId })
    expect((await postText(world, company.key, {}, headers)).status).toBe(402)
  })

  it.for([
    ["one character", "k"],
    ["255", "~ ".repeat(127) + "k"],
  ] as const)("is not one with %s", async ([, name]) => {
    const { key } = await makeCompany(world)
    const text = { to: newPhoneNumber() }
    const headers = { "idempotency-key": name }
    const first = await postText(world, key, text, headers)
    expect(first.status).toBe(200)
    expect((await postText(world, key, text, headers)).body).toEqual(first.body)
  })
})

describe("a route that charges nothing", () => {
  it("ignores the Idempotency-Key header", async () => {
    const { key } = await makeCompany(world)
    const headers = { "idempotency-key": newIdempotencyKey() }
    const body = { phone: newPhoneNumber() }
    for (let i = 0; i < 2; i += 1) {
      const url = "/api/v1/phone/opt-outs"
      const { status, headers: found } = await world.call(key, "POST", url, { body, headers })
      expect([status, found["idempotency-replayed"]]).toEqual([200, undefined])
    }
  })
})

describe("two Idempotency-Key headers", () => {
  it("are rejected with 400", async () => {
    const company = await makeCompany(world)
    const url = await world.app.listen({ host: "127.0.0.1", port: 0 })
    const sending = request(`${url}${MESSAGES_PATH}`, {
      method: "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${company.key}`,
        "content-type": "application/json",
        "idempotency-key": [newIdempotencyKey(), newIdempotencyKey()],
      },
    })
    sending.end(JSON.stringify({ to: newPhoneNumber(), body: "Hello" }))
    const [response] = (await once(sending, "response")) as [IncomingMessage]
    const body = (await json(response)) as { readonly fields: unknown }
    expect([response.statusCode, body.fields]).toEqual([
      400,
      { "Idempotency-Key": "Must be given once." },
    ])
    expect(await chargeAmountsOf(world, company)).toEqual([])
  })
})
