/** The server is killed in the middle of load; callers retry what they do not know. */
import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Place, ServerProcess } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

const CALLERS = 16
const TEXTS = 240
const KILL_AFTER = 80

let place: Place
beforeAll(async () => {
  place = await makePlace()
})
afterAll(async () => {
  await place.clear()
})

/** Sends one text; null where the connection told nothing. */
async function send(server: ServerProcess, key: string, name: string, to: string) {
  const request = {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": name,
    },
    body: JSON.stringify({ to, body: "hello" }),
  }
  const answer = await fetch(`${server.url}/api/v1/phone/messages`, request).catch(() => null)
  if (answer === null) return null
  const text = await answer.text().catch(() => null)
  return text === null ? null : { status: answer.status, body: JSON.parse(text) as { id: string } }
}

it("keeps every acknowledged charge once, and no charge twice, over kill -9 and retries", async () => {
  let server = await place.start()
  const { companyId, ownerId } = await place.ledger("company", "create", "load", "--funds", "100")
  await place.ledger("card", "set", "--company", companyId, "--verified")
  const { key } = await place.ledger(
    ...["key", "create", "--company", companyId, "--person", ownerId, "--all-operations"],
  )
  const names = Array.from({ length: TEXTS }, () => randomUUID())
  const numbers = names.map((_, i) => `+1415555${String(1_000 + (i % 40)).padStart(4, "0")}`)
  const acknowledged = new Map<string, string>()
  let killed: Promise<unknown> | null = null

  const work = names.map((name, i) => ({ name, to: numbers[i] as string }))
  const callers = Array.from({ length: CALLERS }, async () => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) {
      const answer = await send(server, key, next.name, next.to)
      if (answer?.status === 200) acknowledged.set(next.name, answer.body.id)
      if (acknowledged.size >= KILL_AFTER) killed ??= server.end("SIGKILL")
    }
  })
  await Promise.all(callers)
  await killed
  expect(acknowledged.size).toBeGreaterThanOrEqual(KILL_AFTER)
  expect(acknowledged.size).toBeLessThan(TEXTS)
  const before = new Map(acknowledged)

  server = await place.start()
  const retry = names.map((name, i) => ({ name, to: numbers[i] as string }))
  const retries = Array.from({ length: CALLERS }, async () => {
    for (let next = retry.shift(); next !== undefined; next = retry.shift()) {
      const answer = await send(server, key, next.name, next.to)
      expect(answer).toMatchObject({ status: 200 })
      acknowledged.set(next.name, answer?.body.id ?? "")
    }
  })
  await Promise.all(retries)
  await place.ledger("wait")

  for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
  expect(new Set(acknowledged.values()).size).toBe(TEXTS)
  const file = join(place.dataDir, "bill.csv")
  const month = new Date().toISOString().slice(0, 7)
  await place.ledger(
    ...["export", "billing", "--company", companyId, "--month", month],
    ...["--format", "csv", "--out", file],
  )
  const bill = await readFile(file, "utf8")
  const charged = bill.split("\r\n").filter((line) => /,"?charge"?,/.test(line))
  const givenBack = bill.split("\r\n").filter((line) => /,"?give_back"?,/.test(line))
  for (const id of acknowledged.values()) {
    expect(charged.filter((line) => line.includes(`"${id}"`))).toHaveLength(1)
  }
  // The only others are charges whose text was never queued: each was given back or still will be.
  expect(charged.length - TEXTS).toBeGreaterThanOrEqual(0)
  expect(givenBack.length).toBeLessThanOrEqual(TEXTS)
  const audit = await place.ledger("audit", "verify")
  expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  expect(await server.end("SIGTERM")).toBe(0)
}, 90_000)
