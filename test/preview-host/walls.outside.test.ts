/** What apps do not reach, and what of a preview lasts: its database, its storage, whatever ends its sandbox. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { AppPlan } from "../../adapters/providers/preview-host/port.ts"
import { portOf } from "../../adapters/providers/preview-host/sandboxed.ts"
import { errorOf, isRoot } from "../boxhost/machine.ts"
import { page } from "./asking.ts"
import { killKeeper, loopsOf, openPreviews, ownPreviews } from "./machine.ts"
import { appOf } from "./plans.ts"

const PROJECT = join(import.meta.dirname, "../..")

const previews = await ownPreviews()
const folder = mkdtempSync(join(tmpdir(), "app-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** Connects with whatever it is told, and answers what that came to; reads files as well. */
const PROBING = `
import { createServer } from "node:http"
import { connect } from "node:net"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
const tried = (host, port) => new Promise((done) => {
  const socket = connect({ host, port, timeout: 3000 })
  for (const how of ["connect", "error", "timeout"]) socket.once(how, () => { socket.destroy(); done(how) })
})
createServer(async (asked, answer) => {
  const { searchParams, pathname } = new URL(asked.url, "http://a")
  const path = searchParams.get("path")
  if (pathname === "/connect") answer.end(await tried(searchParams.get("host"), Number(searchParams.get("port"))))
  else if (pathname === "/write") answer.end(String(writeFileSync(path, "canary")))
  else if (pathname === "/read") try { answer.end(readFileSync(path)) } catch (error) { answer.end(error.code) }
  else if (pathname === "/list") answer.end(readdirSync(path).join())
  else answer.end("well")
}).listen(Number(process.env.PORT), "127.0.0.1")`

const connects = (plan: AppPlan, host: string, port: number) =>
  page(previews.host, plan, `/connect?host=${host}&port=${port}`)

describe("an app of one company", () => {
  it("reaches its own ports, and nobody else's", async () => {
    const [one, other] = [appOf(PROBING), appOf(PROBING)]
    await Promise.all([previews.host.start(one), previews.host.start(other)])
    const canary = createServer((socket) => socket.end("canary")).listen(0, "0.0.0.0")
    await once(canary, "listening")
    const { port } = canary.address() as AddressInfo
    expect(await connects(one, "127.0.0.1", portOf(one.publishId))).toBe("connect")
    expect(await connects(one, "127.0.0.1", 5432)).toBe("connect")
    const own = Object.values(networkInterfaces())
      .flat()
      .map((address) => address?.address ?? "")
    const forbidden: [string, number][] = [
      ...["127.0.0.1", ...own.filter((address) => address.includes("."))].map(
        (host): [string, number] => [host, port],
      ),
      ["127.0.0.1", portOf(other.publishId)],
      ...([
        ["169.254.169.254", 80],
        ["10.0.2.2", port],
        ["10.0.2.3", 53],
        ["1.1.1.1", 443],
      ] as [string, number][]),
    ]
    for (const [host, at] of forbidden)
      expect([host, at, await connects(one, host, at)]).toEqual([host, at, "error"])
    canary.close()
    for (const { companyId } of [one, other]) await previews.host.erase(companyId)
  })

  it("sees no file of another, nor of this machine", async () => {
    const [one, other] = [appOf(PROBING), appOf(PROBING)]
    await Promise.all([previews.host.start(one), previews.host.start(other)])
    await page(previews.host, one, "/write?path=/data/storage/secret")
    expect(await page(previews.host, one, "/read?path=/data/storage/secret")).toBe("canary")
    expect(await page(previews.host, other, "/read?path=/data/storage/secret")).toBe("ENOENT")
    expect(await page(previews.host, other, "/list?path=/data/versions")).not.toContain(
      one.publishId,
    )
    for (const path of [previews.dir, previews.boxes.runDir, PROJECT]) {
      expect(await page(previews.host, other, `/read?path=${path}`)).toBe("ENOENT")
    }
    expect(await page(previews.host, other, "/read?path=/etc/shadow")).toBe("ENOENT")
    for (const { companyId } of [one, other]) await previews.host.erase(companyId)
  })
})

/** Counts its own calls in its database, and writes what a megabyte is. */
const COUNTING = `
import { createServer } from "node:http"
import { writeFileSync } from "node:fs"
import { Pool } from "pg"
const pool = new Pool({ connectionString: process.env.DATABASE_URL })
createServer(async (_, answer) => {
  await pool.query("INSERT INTO calls DEFAULT VALUES")
  writeFileSync("/data/storage/big", Buffer.alloc(1 << 24))
  const { rows } = await pool.query("SELECT count(*)::int AS calls FROM calls")
  answer.end(String(rows[0].calls))
}).listen(Number(process.env.PORT), "127.0.0.1")`

/** An app that brings the client of PostgreSQL along. */
function counting(): AppPlan {
  writeFileSync(join(folder, "app.mjs"), COUNTING)
  const make = `import { Pool } from "pg"
const pool = new Pool({ connectionString: process.env.DATABASE_URL })
await pool.query("CREATE TABLE calls (id bigint GENERATED ALWAYS AS IDENTITY)")
await pool.end()`
  writeFileSync(join(folder, "make.mjs"), make)
  const names = readdirSync(join(PROJECT, "node_modules"))
  const packages = names.filter((name) => /^(pg|postgres-|split2$|xtend$)/.test(name))
  const more = packages.map((name) => join("node_modules", name))
  const words = ["-c", "-C", folder, "app.mjs", "make.mjs", "-C", PROJECT, ...more]
  return appOf("", {
    app: { release: "node make.mjs" },
    files: () => spawn("tar", words, { stdio: ["ignore", "pipe", "inherit"] }).stdout,
  })
}

describe("what a preview has", () => {
  it("lasts, whatever ends its sandbox", async () => {
    const plan = counting()
    await previews.host.start(plan)
    const again = { ...plan, isNew: false }
    let calls = Number(await page(previews.host, plan))
    const expectKept = async () => {
      await previews.another.start(again)
      const now = Number(await page(previews.host, plan))
      expect(now).toBeGreaterThan(calls)
      // The calls by which it is found well are counted too; none is lost.
      expect(now).toBeLessThanOrEqual(calls + 3)
      calls = now
    }
    for (let round = 0; round < 3; round += 1) {
      await previews.host.sleep(plan.companyId)
      await expectKept()
    }
    await killKeeper(previews, plan.companyId)
    await expectKept()
    await previews.host.erase(plan.companyId)
    // A company that was erased begins anew.
    await previews.host.start(plan)
    expect(Number(await page(previews.host, plan))).toBeLessThanOrEqual(3)
    await previews.host.erase(plan.companyId)
    expect(readdirSync(previews.dir)).toEqual([])
    await expect.poll(() => loopsOf(previews.dir), { timeout: 30_000 }).toEqual([])
  })

  it("lies in a folder where none can be mounted, if its user reaches it", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user has nothing else")
    const poor = await openPreviews({ without: ["images"] })
    const plan = appOf(PROBING)
    chmodSync(poor.dir, 0o700)
    const refused = await errorOf(poor.host.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/do not reach .*: let them pass the folders above it/)
    chmodSync(poor.dir, 0o711)
    await poor.host.start(plan)
    await page(poor.host, plan, "/write?path=/data/storage/kept")
    await poor.host.sleep(plan.companyId)
    await poor.host.start({ ...plan, isNew: false })
    expect(await page(poor.host, plan, "/read?path=/data/storage/kept")).toBe("canary")
    await poor.host.erase(plan.companyId)
    expect(readdirSync(poor.dir)).toEqual([])
    await poor.close()
  })
})
