import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { findMessage, listMessages } from "../../projections/phone/message-lists.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import type { MessageId } from "../../domain/phone/ids.ts"

const world = await ownWorld("time")
const db = world.ports.readAll
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const URL = "/api/v1/phone/messages"
const TO = "+14155550123"

async function send(to = TO, body = "Hi") {
  const { body: answer } = await world.call(company.key, "POST", URL, { body: { to, body } })
  return answer as { id: MessageId; from: string }
}

async function textIn(body: string, to: string): Promise<MessageId> {
  return (await world.operate("carrier text-in", { from: TO, to, body })).messageId
}

const allMessages = async () =>
  listMessages(db, { companyId: company.companyId, since: null, before: null, limit: 200 })

describe("messages", () => {
  it("has texts in both directions, oldest first, with all that belongs to them", async () => {
    const sent = await send(TO, "Hello")
    await world.operate("wait")
    const received = await textIn("Hi \0 there", sent.from)
    const [out, back] = await allMessages()
    expect(out).toMatchObject({
      message_id: sent.id,
      direction: "out",
      from_number: sent.from,
      to_number: TO,
      body: "Hello\nReply STOP to opt out.",
      media: 0,
      status: "sent",
      error_code: null,
      key_id: company.keyId,
    })
    expect(out?.charge_id).toMatch(/^chg_/)
    expect(back).toMatchObject({
      message_id: received,
      direction: "in",
      from_number: TO,
      to_number: sent.from,
      body: "Hi \uFFFD there",
      status: "received",
      key_id: null,
      charge_id: null,
      number_id: out?.number_id,
    })
    expect(await findMessage(db, sent.id)).toMatchObject({ company_id: company.companyId })
    expect(await findMessage(db, received)).toBeNull()
  })

  it("gives each a time of its own that rises, though the clock stands still", async () => {
    const { from } = await send()
    for (let i = 0; i < 5; i += 1) await textIn(`text ${i}`, from)
    await world.operate("wait")
    const times = (await allMessages()).map((row) => row.created_at.getTime())
    expect(times).toHaveLength(6)
    const [first = 0] = times
    expect(times).toEqual(times.map((_, i) => first + i))
    expect(first).toBe(world.ports.clock.now())
    await world.operate("clock advance", { duration: "1s" })
    await textIn("later", from)
    expect((await allMessages()).at(-1)?.created_at.getTime()).toBe(first + 1_000)
  })

  it("loses no row to a reader who asks for what came since, while several write", async () => {
    const { from } = await send()
    const seen = new Set<string>()
    let since: Date | null = null
    let isWriting = true
    const page = async () => {
      const rows = await world.ports.readAs(company.companyId, (own) =>
        listMessages(own, { companyId: company.companyId, since, before: null, limit: 200 }),
      )
      for (const row of rows) {
        expect(seen.has(row.message_id)).toBe(false)
        seen.add(row.message_id)
      }
      since = rows.at(-1)?.created_at ?? since
    }
    const reader = (async () => {
      while (isWriting) await page()
    })()
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; i < 10; i += 1) {
        if (writer === 0) await textIn(`in ${i}`, from)
        else await send(`+1415555${writer}${String(i).padStart(3, "0")}`)
      }
    })
    await Promise.all(writers)
    isWriting = false
    await reader
    await world.operate("wait")
    await page()
    const all = await sql<{ id: string }>`
      select message_id as id from messages where company_id = ${company.companyId}`.execute(db)
    expect(seen).toEqual(new Set(all.rows.map(({ id }) => id)))
    expect(seen.size).toBe(41)
  })
})
