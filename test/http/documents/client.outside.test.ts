/** The client that `npm run client` generates compiles and calls a server. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll, describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../../support/world.ts"
import { ROOT } from "../../conventions/source-tree.ts"

/** A program that uses the client. It compiles only if the client's types are right. */
const USE = `
import { client } from "./client.gen.js"
import type { ApiError, Message, Micros } from "./index.js"
import { exportBill, listMessages, readLimits, sendText } from "./index.js"

const [, , baseUrl = "", key = "", poor = ""] = process.argv
client.setConfig({ baseUrl, auth: () => key })
const body = { to: "+14155550123", body: "Hello" }
const sent = await sendText({ body, headers: { "Idempotency-Key": "one" } })
const again = await sendText({ body, headers: { "Idempotency-Key": "one" } })
const listed = await listMessages({ query: { since: "2026-01-01T00:00:00.000Z" } })
const messages: readonly Message[] = listed.data?.messages ?? []
const limits = await readLimits()
const funds: Micros | undefined = limits.data?.funds.fundsMicros
const refused = await sendText({ body, auth: () => poor })
const error: ApiError | undefined = refused.error
const amount: number | undefined = error?.pay?.body.amount
const month = new Date().toISOString().slice(0, 7)
/** The JavaScript type of a file and its first bytes; undefined if its declared type is different. */
const summarize = async (format: "csv" | "hledger" | "ndjson" | "focus-parquet" | "pdf") => {
  const { data } = await exportBill({ query: { month, format } })
  const file: string | Blob | undefined = data
  // @ts-expect-error it may be a Blob
  const wrong: string | undefined = data
  if (file === undefined) return wrong
  if (typeof file === "string") return "string " + file.slice(0, 4)
  return "bytes " + (await file.text()).slice(0, 4)
}
const files = [
  await summarize("csv"),
  await summarize("hledger"),
  await summarize("ndjson"),
  await summarize("focus-parquet"),
  await summarize("pdf"),
]
// @ts-expect-error a number is not text
await sendText({ body: { to: 1, body: "Hello" }, auth: () => "" })
// @ts-expect-error there is no such parameter
await listMessages({ query: { snice: "" }, auth: () => "" })
process.stdout.write(
  JSON.stringify({
    ids: [sent.data?.id, again.data?.id, ...messages.map(({ id }) => id)],
    body: messages[0]?.body,
    files,
    funds,
    status: refused.response?.status,
    code: error?.error,
    amount,
  }),
)
`

const COMPILED = [
  "--strict",
  "--target",
  "es2022",
  "--module",
  "nodenext",
  "--rootDir",
  ".",
  "--types",
  "node",
  "--typeRoots",
  join(ROOT, "node_modules", "@types"),
  "--outDir",
  "compiled",
]

const folder = await mkdtemp(join(tmpdir(), "generated-client-"))
const world = await ownWorld("store")
await world.app.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => rm(folder, { recursive: true }))

/** Runs a Node script in the client's folder until it exits. */
async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, args, { cwd: folder })
  const ended = once(child, "close")
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  return { code, out, errors }
}

const generate = (...args: readonly string[]) => run(join(ROOT, "bin", "client.mjs"), ...args)

describe("npm run client", () => {
  it("generates a client that sends a text, lists it, and has typed errors", async () => {
    await writeFile(join(folder, "mine.txt"), "an older file")
    expect(await generate("--out", ".", "--url", "http://ledger.test")).toMatchObject({ code: 0 })
    expect(await readdir(folder)).toEqual(expect.arrayContaining(["index.ts", "mine.txt"]))
    await writeFile(join(folder, "package.json"), '{"type":"module"}')
    await writeFile(join(folder, "use.ts"), USE)
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc")
    expect(await run(tsc, ...COMPILED, "use.ts")).toEqual({ code: 0, out: "", errors: "" })
    const [company, poor] = [await makeCompany(world), await makeCompany(world, { funds: "0" })]
    const used = await run("compiled/use.js", world.app.listeningOrigin, company.key, poor.key)
    expect(used).toMatchObject({ code: 0, errors: "" })
    const { ids, ...rest } = JSON.parse(used.out) as { readonly ids: readonly string[] }
    expect(new Set(ids).size).toBe(1)
    expect(ids).toHaveLength(3)
    expect(rest).toEqual({
      body: "Hello\nReply STOP to opt out.",
      funds: 49_991_000,
      status: 402,
      code: "payment_required",
      amount: 5,
      files: ['string "lin', "string ; Bi", 'bytes {"li', "bytes PAR1", "bytes %PDF"],
    })
  })

  it.each([[[]], [["--out"]], [["--out", ".", "--url", "here"]], [["--output", "."]]])(
    "prints its usage: %j",
    async (args) => {
      const { code, out, errors } = await generate(...args)
      expect([code, out]).toEqual([2, ""])
      expect(errors).toContain("npm run client -- --out FOLDER")
    },
  )
})
