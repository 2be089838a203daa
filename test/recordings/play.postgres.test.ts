/** Playing recordings: in full and by ranges, and recordings that are missing, corrupt or erased. */
import { sql } from "kysely"
import { beforeAll, describe, expect, it } from "vitest"
import { CHUNK_BYTES } from "../../adapters/postgres/blobs/port.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import {
  fetchRecording,
  newRecordedCallId,
  storeRecording,
  removeRecording,
} from "./recording-world.ts"

const world = await ownWorld("store", { rateLimits: "off" })
let company: Company
/** Three chunks, the last one short. Bytes depend on their index, so that a wrong range is noticed. */
const BYTES = Buffer.from(
  Uint8Array.from({ length: 2 * CHUNK_BYTES + 1_000 }, (_none, i) => (i * 7 + (i >> 8)) % 251),
)
const SIZE = BYTES.length

beforeAll(async () => {
  company = await makeCompany(world)
})

const recordBytes = (callId = newRecordedCallId()) =>
  storeRecording(world, company, { callId }, [BYTES])

describe("a recording", () => {
  let callId: CallId
  beforeAll(async () => {
    callId = await recordBytes()
  })

  it("is uncached MP3, and can be played before any read model shows it", async () => {
    const fresh = await recordBytes()
    const { status, headers, bytes } = await fetchRecording(world, company, fresh)
    expect([status, bytes.equals(BYTES)]).toEqual([200, true])
    expect(headers).toMatchObject({
      "content-type": "audio/mpeg",
      "content-length": String(SIZE),
      "accept-ranges": "bytes",
      "cache-control": "private, no-store",
      "content-disposition": "inline",
    })
    expect(headers.etag).toMatch(/^"[0-9a-f-]{36}"$/)
  })

  const borders = [CHUNK_BYTES, 2 * CHUNK_BYTES].flatMap((border) => [
    border - 1,
    border,
    border + 1,
  ])
  it.for(
    [
      ...borders.flatMap((from) => borders.map((last) => [from, last] as const)),
      ...([
        [0, 0],
        [0, SIZE - 1],
        [SIZE - 1, SIZE - 1],
        [SIZE - 1, SIZE],
        [5, 10 * SIZE],
      ] as const),
    ].filter(([from, last]) => from <= last),
  )("has the range from %i to %i", async ([from, last]) => {
    const range = `bytes=${from}-${last}`
    const { status, headers, bytes } = await fetchRecording(world, company, callId, { range })
    const until = Math.min(last + 1, SIZE)
    expect(status).toBe(206)
    expect(headers["content-range"]).toBe(`bytes ${from}-${until - 1}/${SIZE}`)
    expect(headers["content-length"]).toBe(String(until - from))
    expect(bytes.equals(BYTES.subarray(from, until))).toBe(true)
  })

  it.for([
    ["bytes=-1", SIZE - 1],
    [`bytes=-${CHUNK_BYTES}`, SIZE - CHUNK_BYTES],
    [`bytes=-${10 * SIZE}`, 0],
    [`bytes=${2 * CHUNK_BYTES}-`, 2 * CHUNK_BYTES],
  ] as const)("has the open range %s", async ([range, from]) => {
    const { status, bytes } = await fetchRecording(world, company, callId, { range })
    expect([status, bytes.equals(BYTES.subarray(from))]).toEqual([206, true])
  })

  it.for([`bytes=${SIZE}-`, `bytes=${SIZE}-${SIZE + 5}`, "bytes=-0"])(
    "answers 416 to the range %s",
    async (range) => {
      const { status, headers, bytes } = await fetchRecording(world, company, callId, { range })
      expect([status, headers["content-range"]]).toEqual([416, `bytes */${SIZE}`])
      expect(JSON.parse(String(bytes))).toMatchObject({ error: "range_not_satisfiable" })
    },
  )

  it.for(["bytes=0-1,3-4", "bytes=0-1,9999999-", "bytes=9-3", "bytes=a-b", "lines=0-1", "bytes"])(
    "is sent in full for multiple or invalid ranges: %s",
    async (range) => {
      const { status, bytes } = await fetchRecording(world, company, callId, { range })
      expect([status, bytes.length]).toEqual([200, SIZE])
    },
  )

  it("is sent as a range only if the player's ETag matches", async () => {
    const { headers } = await fetchRecording(world, company, callId)
    const statusFor = async (etag: string) =>
      (await fetchRecording(world, company, callId, { range: "bytes=0-3", "if-range": etag }))
        .status
    expect([await statusFor(String(headers.etag)), await statusFor('"another"')]).toEqual([
      206, 200,
    ])
  })

  it("has headers and no body for HEAD", async () => {
    const { status, headers, bytes } = await fetchRecording(world, company, callId, {
      method: "HEAD",
    })
    expect([status, headers["content-length"], bytes.length]).toEqual([200, String(SIZE), 0])
  })

  it("is read only in the chunks of the requested range", async () => {
    const corrupt = await recordBytes()
    // The other chunks cannot be decrypted.
    await damage(corrupt, sql`update ledger.blob_chunks set sealed = '' where index <> 1`)
    const range = `bytes=${CHUNK_BYTES}-${2 * CHUNK_BYTES - 1}`
    const { status, bytes } = await fetchRecording(world, company, corrupt, { range })
    const chunk = BYTES.subarray(CHUNK_BYTES, 2 * CHUNK_BYTES)
    expect([status, bytes.equals(chunk)]).toEqual([206, true])
  })
})

/** Changes the stored chunks of a recording. */
async function damage(callId: CallId, change: ReturnType<typeof sql>): Promise<void> {
  const version = sql`(select version_id from ledger.blobs where blob_id = ${`${callId}-call`})`
  await sql`${change} and version_id = ${version}`.execute(world.ports.readAll)
}

describe("a recording that was changed in the database", () => {
  it.for([
    ["lacks a chunk", sql`delete from ledger.blob_chunks where index = 1`],
    ["lacks its end", sql`delete from ledger.blob_chunks where index = 2`],
    [
      "has a chunk twice",
      sql`update ledger.blob_chunks b set sealed = (select sealed from
      ledger.blob_chunks o where o.version_id = b.version_id and o.index = 0) where index = 1`,
    ],
    [
      "has a byte changed",
      sql`update ledger.blob_chunks
      set sealed = set_byte(sealed, 100, 255 - get_byte(sealed, 100)) where index = 1`,
    ],
  ] as const)("so that it %s is cut off before a wrong byte is sent", async ([, change]) => {
    const callId = await recordBytes()
    await damage(callId, change)
    const before = world.warnings.length
    const result = await fetchRecording(world, company, callId).catch((error: unknown) => error)
    expect(result).toBeInstanceOf(Error)
    expect(world.warnings.slice(before).join()).toContain("is corrupt")
  })

  it("so that it has the audio of another call is rejected", async () => {
    const [first, second] = [await recordBytes(), await recordBytes()]
    const blobIdOf = (callId: CallId) => `${callId}-call`
    await sql`delete from ledger.blobs where blob_id = ${blobIdOf(first)}`.execute(
      world.ports.readAll,
    )
    await sql`update ledger.blobs set blob_id = ${blobIdOf(first)}
      where blob_id = ${blobIdOf(second)}`.execute(world.ports.readAll)
    expect((await fetchRecording(world, company, first)).status).toBe(500)
    expect((await fetchRecording(world, company, second)).status).toBe(404)
  })

  it("so that its length is wrong is rejected", async () => {
    const callId = await recordBytes()
    await sql`update ledger.blobs set length = length - 1
      where blob_id = ${`${callId}-call`}`.execute(world.ports.readAll)
    expect((await fetchRecording(world, company, callId)).status).toBe(500)
  })
})

describe("a recording is not found", () => {
  it("for an unknown call, the other kind, or another company", async () => {
    const callId = await storeRecording(world, company, { kind: "voicemail" })
    const other = await makeCompany(world)
    const answers = [
      await fetchRecording(world, company, newRecordedCallId()),
      await fetchRecording(world, company, "msg_1"),
      await fetchRecording(world, company, "call_*"),
      await fetchRecording(world, company, callId),
      await fetchRecording(world, other, callId, { kind: "voicemail" }),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(200)
  })

  it("after its deletion, and its blob is gone", async () => {
    const callId = await recordBytes()
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    expect((await fetchRecording(world, company, callId)).status).toBe(404)
    const { rows } =
      await sql`select from ledger.blobs where blob_id = ${`${callId}-call`}`.execute(
        world.ports.readAll,
      )
    expect(rows).toHaveLength(0)
  })

  it("after its caller was erased", async () => {
    const callId = await storeRecording(world, company, { subject: "caller1" }, [BYTES])
    expect((await fetchRecording(world, company, callId)).status).toBe(200)
    await world.ports.erasure.destroySubjectKey(company.companyId, "caller1")
    expect((await fetchRecording(world, company, callId)).status).toBe(404)
  })
})
