/** Reading all texts by `since` and `cursor`: nothing is lost, and nothing comes twice. */
import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, makeKey, ownWorld, type World } from "../support/world.ts"
import { MESSAGES_PATH, newPhoneNumber, postText } from "./text-requests.ts"

const PAGE = 200
/** So many of a writer's texts are under way at once: on a busy machine each one's turn comes late. */
const AT_ONCE = 3

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

/** Everything after an instant, page by page, the newest first; each page's own order is kept. */
async function readAfter(from: World, key: string, since: string | null): Promise<readonly Text[]> {
  const found: Text[] = []
  let cursor: string | undefined
  do {
    const words = {
      ...(since === null ? {} : { since }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const query = new URLSearchParams(words).toString()
    const { status, body } = await from.call(key, "GET", `${MESSAGES_PATH}?${query}`)
    expect(status).toBe(200)
    expect(body.messages.length).toBeLessThanOrEqual(PAGE)
    found.unshift(...body.messages)
    cursor = body.nextCursor
  } while (cursor !== undefined)
  return found
}

/** Four who write at once: by two processes, out and in. */
async function writeByFour(each: number) {
  const company = await makeCompany(world)
  const { from } = (await postText(world, company.key)).body
  const keys = [await makeKey(world, company), await makeKey(world, company)]
  const ids: string[] = []
  let isDone = false
  const writeOne = async (writer: number, i: number): Promise<string> => {
    if (writer === 3) {
      const to = { from: newPhoneNumber(), to: from, body: `in ${i}` }
      return (await other.operate("carrier text-in", to)).messageId
    }
    const by = writer === 0 ? other : world
    const key = keys[writer % 2]?.key ?? ""
    const { status, body } = await postText(by, key, { body: `by ${writer}: ${i}` })
    expect(status).toBe(200)
    return body.id
  }
  const write = async (writer: number) => {
    for (let begun = 0; begun < each; begun += AT_ONCE) {
      const texts = Array.from({ length: Math.min(AT_ONCE, each - begun) }, (_none, i) =>
        writeOne(writer, begun + i),
      )
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

/** A company with so many texts, of which one in four came in. */
async function writeMany(count: number) {
  const company = await makeCompany(world)
  const { from } = (await postText(world, company.key)).body
  const write = async (_none: unknown, i: number): Promise<string> => {
    const comesIn = { from: newPhoneNumber(), to: from, body: `in ${i}` }
    if (i % 4 === 3) return (await world.operate("carrier text-in", comesIn)).messageId
    const { status, body } = await postText(world, company.key, { body: `out ${i}` })
    expect(status).toBe(200)
    return body.id
  }
  const ids = await Promise.all(Array.from({ length: count }, write))
  await world.operate("wait")
  return { company, ids }
}

const idsOf = (texts: readonly Text[]) => texts.map(({ id }) => id)

describe("while four write at once", () => {
  it("who asks again and again for what is new gets everything, once, in order", async () => {
    const { company, ids, written, isDone } = await writeByFour(45)
    const found: Text[] = []
    let rounds = 0
    for (let last = false; !last; rounds += 1) {
      last = isDone()
      if (last) await Promise.all([world.operate("wait"), other.operate("wait")])
      // Now in this process, now in the other.
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

  it("who walks back sees what was there when the walk began, once", async () => {
    const { company, written } = await writeByFour(55)
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
    // The order of the list never changes behind a reader: each walk is how it begins.
    for (const walk of walks) expect(walk).toEqual(all.slice(0, walk.length))
  })
})

const { company, ids } = await writeMany(420)

describe("cursor", () => {
  it("walks back from the newest page to since, and ends", async () => {
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
    for (const [place, more] of [
      [all.length - PAGE - 1, false],
      [all.length - PAGE - 2, true],
    ] as const) {
      const since = all[place]?.createdAt
      const { body } = await world.call(company.key, "GET", `${MESSAGES_PATH}?since=${since}`)
      expect(body.messages).toEqual(all.slice(-PAGE))
      expect(body.nextCursor !== undefined).toBe(more)
      expect(await readAfter(world, company.key, since ?? null)).toEqual(all.slice(place + 1))
    }
  })

  it.for(["", "0", "xx", "A", "1.5", "-1", "zzzzzzzzz", "zzzzzzzzzz", "1 2", "';--", "a&cursor=b"])(
    "that is none is 400: %s",
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

  it("is taken only exactly as it was given, and for the list that it is of", async () => {
    const ask = async (key: string, cursor: string) =>
      world.call(key, "GET", `${MESSAGES_PATH}?cursor=${encodeURIComponent(cursor)}`)
    const { nextCursor } = (await world.call(company.key, "GET", MESSAGES_PATH)).body
    const right = await ask(company.key, nextCursor)
    expect([right.status, right.body.messages.length]).toEqual([200, PAGE])
    const damaged = Array.from(String(nextCursor), (letter, at) => [
      nextCursor.slice(0, at),
      nextCursor.slice(0, at) + nextCursor.slice(at + 1),
      `${nextCursor.slice(0, at)}${letter === "1" ? "2" : "1"}${nextCursor.slice(at + 1)}`,
    ]).flat()
    const others = [`${nextCursor}0`, `0${nextCursor}`, ` ${nextCursor}`, nextCursor.toUpperCase()]
    for (const cursor of [...damaged, ...others]) {
      const { status, body } = await ask(company.key, cursor)
      expect([cursor, status, Object.keys(body.fields ?? {})]).toEqual([cursor, 400, ["cursor"]])
    }
    const another = await makeCompany(world)
    expect((await ask(another.key, nextCursor)).status).toBe(400)
  })
})
