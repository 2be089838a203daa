/** Reading all texts by `since` and `cursor`: no text is lost or repeated. */
import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, makeKey, ownWorld, type World } from "../support/world.ts"
import { MESSAGES_PATH, newPhoneNumber, postText } from "./text-requests.ts"

const PAGE = 200
/** Concurrent texts per writer, so few that none waits too long on a busy machine. */
const CONCURRENT_TEXTS = 3

interface Text {
  readonly id: string
  readonly body: string
  readonly createdAt: string
}

const world = await ownWorld("time", { clock: "system", rateLimits: "off" })
await makeCallsFree(world)
/** Another process on the same database. */
const other = await ownWorld("start", {
  clock: "system",
  rateLimits: "off",
  url: world.databaseUrl,
})

/** All texts after a time, oldest first, read page by page from the newest. */
async function readAfter(from: World, key: string, since: string | null): Promise<readonly Text[]> {
  const found: Text[] = []
  let cursor: string | undefined
  do {
    const parameters = {
      ...(since === null ? {} : { since }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const query = new URLSearchParams(parameters).toString()
    const { status, body } = await from.call(key, "GET", `${MESSAGES_PATH}?${query}`)
    expect(status).toBe(200)
    expect(body.messages.length).toBeLessThanOrEqual(PAGE)
    found.unshift(...body.messages)
    cursor = body.nextCursor
  } while (cursor !== undefined)
  return found
}

/** Starts four concurrent writers in two processes, for outgoing and incoming texts. */
async function startFourWriters(textsPerWriter: number) {
  const company = await makeCompany(world)
  const { from } = (await postText(world, company.key)).body
  const keys = [await makeKey(world, company), await makeKey(world, company)]
  const ids: string[] = []
  let isDone = false
  const writeOne = async (writer: number, i: number): Promise<string> => {
    if (writer === 3) {
      const text = { from: newPhoneNumber(), to: from, body: `in ${i}` }
      return (await other.operate("carrier text-in", text)).messageId
    }
    const by = writer === 0 ? other : world
    const key = keys[writer % 2]?.key ?? ""
    const { status, body } = await postText(by, key, { body: `by ${writer}: ${i}` })
    expect(status).toBe(200)
    return body.id
  }
  const write = async (writer: number) => {
    for (let start = 0; start < textsPerWriter; start += CONCURRENT_TEXTS) {
      const length = Math.min(CONCURRENT_TEXTS, textsPerWriter - start)
      const texts = Array.from({ length }, (_none, i) => writeOne(writer, start + i))
      ids.push(...(await Promise.all(texts)))
    }
  }
  const writeAll = async () => {
    await Promise.all([0, 1, 2, 3].map(write))
    isDone = true
  }
  const written = writeAll()
  return { company, ids, written, isDone: () => isDone }
}

/** A company with `count` texts, of which one in four is incoming. */
async function writeMany(count: number) {
  const company = await makeCompany(world)
  const { from } = (await postText(world, company.key)).body
  const write = async (_none: unknown, i: number): Promise<string> => {
    const incoming = { from: newPhoneNumber(), to: from, body: `in ${i}` }
    if (i % 4 === 3) return (await world.operate("carrier text-in", incoming)).messageId
    const { status, body } = await postText(world, company.key, { body: `out ${i}` })
    expect(status).toBe(200)
    return body.id
  }
  const ids = await Promise.all(Array.from({ length: count }, write))
  await world.operate("wait")
  return { company, ids }
}

const idsOf = (texts: readonly Text[]) => texts.map(({ id }) => id)

describe("while four writers are active", () => {
  it("a client that polls for new texts gets each of them once, in order", async () => {
    const { company, ids, written, isDone } = await startFourWriters(45)
    const found: Text[] = []
    let rounds = 0
    for (let last = false; !last; rounds += 1) {
      last = isDone()
      if (last) await Promise.all([world.operate("wait"), other.operate("wait")])
      // The two processes take turns.
      const reader = rounds % 2 === 0 ? world : other
      found.push(...(await readAfter(reader, company.key, found.at(-1)?.createdAt ?? null)))
    }
    await written
    expect(rounds).toBeGreaterThan(2)
    const [first, ...rest] = idsOf(found)
    expect(first).toMatch(/^msg_/)
    expect(rest.toSorted()).toEqual(ids.toSorted())
    const times = found.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...new Set(times)].toSorted())
    expect(await readAfter(other, company.key, null)).toHaveLength(found.length)
  })

  it("a client that pages back gets each text that existed at the start once", async () => {
    const { company, written } = await startFourWriters(55)
    const walks: (readonly string[])[] = []
    let before: readonly string[] = []
    while (before.length <= PAGE) {
      walks.push(idsOf(await readAfter(world, company.key, null)))
      before = walks.at(-1) ?? []
    }
    await written
    await world.operate("wait")
    const all = idsOf(await readAfter(world, company.key, null))
    expect(all).toHaveLength(4 * 55 + 1)
    // The order of the list never changes: each walk is a prefix of it.
    for (const walk of walks) expect(walk).toEqual(all.slice(0, walk.length))
  })
})

const { company, ids } = await writeMany(420)

describe("the cursor", () => {
  it("pages back from the newest page to `since`, and ends there", async () => {
    const pages: (readonly Text[])[] = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `?cursor=${cursor}`
      const { body } = await world.call(company.key, "GET", `${MESSAGES_PATH}${query}`)
      pages.unshift(body.messages)
      cursor = body.nextCursor ?? null
    }
    expect(pages.map((page) => page.length)).toEqual([21, PAGE, PAGE])
    const all = pages.flat()
    expect(all).toHaveLength(ids.length + 1)
    for (const [index, more] of [
      [all.length - PAGE - 1, false],
      [all.length - PAGE - 2, true],
    ] as const) {
      const since = all[index]?.createdAt
      const { body } = await world.call(company.key, "GET", `${MESSAGES_PATH}?since=${since}`)
      expect(body.messages).toEqual(all.slice(-PAGE))
      expect(body.nextCursor !== undefined).toBe(more)
      expect(await readAfter(world, company.key, since ?? null)).toEqual(all.slice(index + 1))
    }
  })

  it.for(["", "0", "xx", "A", "1.5", "-1", "zzzzzzzzz", "zzzzzzzzzz", "1 2", "';--", "a&cursor=b"])(
    "is rejected with 400 if it is invalid: %s",
    async (cursor) => {
      const { status, body } = await world.call(
        company.key,
        "GET",
        `${MESSAGES_PATH}?cursor=${cursor}`,
      )
      expect([status, body.error]).toEqual([400, "validation"])
      expect(Object.keys(body.fields)).toEqual(["cursor"])
    },
  )

  it("is valid only unchanged and for its own list", async () => {
    const list = async (key: string, cursor: string) =>
      world.call(key, "GET", `${MESSAGES_PATH}?cursor=${encodeURIComponent(cursor)}`)
    const { nextCursor } = (await world.call(company.key, "GET", MESSAGES_PATH)).body
    const right = await list(company.key, nextCursor)
    expect([right.status, right.body.messages.length]).toEqual([200, PAGE])
    const damaged = Array.from(String(nextCursor), (letter, at) => [
      nextCursor.slice(0, at),
      nextCursor.slice(0, at) + nextCursor.slice(at + 1),
      `${nextCursor.slice(0, at)}${letter === "1" ? "2" : "1"}${nextCursor.slice(at + 1)}`,
    ]).flat()
    const others = [`${nextCursor}0`, `0${nextCursor}`, ` ${nextCursor}`, nextCursor.toUpperCase()]
    for (const cursor of [...damaged, ...others]) {
      const { status, body } = await list(company.key, cursor)
      expect([cursor, status, Object.keys(body.fields ?? {})]).toEqual([cursor, 400, ["cursor"]])
    }
    const another = await makeCompany(world)
    expect((await list(another.key, nextCursor)).status).toBe(400)
  })
})
