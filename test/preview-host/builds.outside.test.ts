/** Misbehaving builds, isolation of apps, and persistence of previews. */
import { readdirSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { beforeAll, describe, expect, it, afterAll } from "vitest"
import type { PreviewHost, Recipe, AppStartPlan } from "../../adapters/sandbox/preview-host/port.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import { noSandboxReason, rejectionOf, isRoot } from "../boxhost/sandbox-hosts.ts"
import { countBytes, readArchive, fetchPage } from "./preview-client.ts"
import {
  loopDevicesOf,
  ownSandboxPreviews,
  killBoxAgent,
  openSandboxPreviews,
} from "./sandbox-previews.ts"
import { newBuildPlan, newAppPlan } from "./plans.ts"
import { versionPort } from "../../adapters/sandbox/preview-host/sandboxed-previews.ts"

const previews = await ownSandboxPreviews()
/** A preview host with a build timeout of three seconds. */
let hasty: PreviewHost
beforeAll(async () => {
  if (noSandboxReason !== null) return
  hasty = previews.open({ timeouts: { buildTimeoutMs: 3_000 } })
})
const FILES = { "dist/index.html": "one" }
const build = (script: string, more: Partial<Recipe> = {}, host: PreviewHost = previews.host) =>
  host.build(newBuildPlan(FILES, { build: script, ...more }), readArchive)

const text = (log: Buffer): string => log.toString("utf8")

describe("a build", () => {
  it("runs install and build in its root with its variables", async () => {
    const result = await previews.host.build(
      newBuildPlan(
        { "app/a": "one" },
        {
          root: "app",
          env: { WORD: "a 'word' $HOME" },
          install: 'echo "$WORD"; echo bad >&2; echo two > b',
          build: "pwd; mkdir dist && cat a b > dist/c",
        },
      ),
      readArchive,
    )
    expect(result).toMatchObject({ ok: true, stored: { c: "onetwo\n" } })
    expect(text(result.log)).toBe("a 'word' $HOME\nbad\n/workspace/repo/app\n")
  })

  it.for([
    [
      "install",
      { install: "echo no; exit 3", build: "echo never" },
      "The install command exited with code 3.",
      "no\n",
    ],
    [
      "build",
      { install: "echo yes", build: "exit 4" },
      "The build command exited with code 4.",
      "yes\n",
    ],
    ["root", { root: "app" }, "The commit has no folder app.", ""],
  ] as const)("reports the failure of its %s", async ([, recipe, reason, log]) => {
    const result = await previews.host.build(newBuildPlan(FILES, recipe), readArchive)
    expect({ ...result, log: text(result.log) }).toEqual({ ok: false, reason, log })
  })

  it("is ended at its timeout, and keeps its log", async () => {
    const result = await build("echo begun; sleep 600", {}, hasty)
    expect(result).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The build command did not end in time/),
    })
    expect(text(result.log)).toBe("begun\n")
  })

  it.for([
    [
      "a fork bomb",
      "b() { b | b & }; b; sleep 60",
      /^The build command (did not end in time|exited with)/,
    ],
    ["a fork bomb in the background", "b() { b | b & }; b", /./],
    ["a full disk", "head -c 6G /dev/zero > big1; head -c 6G /dev/zero > big2", /^The build/],
    [
      "a full disk and exit code 0",
      "head -c 5M /dev/urandom > dist/big; cat /dev/zero > /tmp/x; cat /dev/zero > /tmp/y; true",
      /^The build's disk of 4 GiB has no room left/,
    ],
    ["a deleted root", "rm -rf /workspace/repo", /^The build created no folder dist\.$/],
    ["a link as its output", "rm -r dist; ln -s /etc dist", /^The build created dist as a link/],
    [
      "a file as its output",
      "rm -r dist; echo > dist",
      /^The build's output dist is not a readable folder/,
    ],
    [
      "an output over the limit",
      "head -c 501000000 /dev/zero > dist/big",
      /^The folder dist is larger/,
    ],
    [
      "memory over the limit",
      "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'",
      /^The build command exited with code (137|1)/,
    ],
    ["a kill of all processes", "kill -9 -1; kill -9 1", /^The build command exited with code 137/],
  ] as const)("fails with %s", async ([, script, why]) => {
    const isBomb = script.startsWith("b()")
    const result = await build(script, {}, isBomb ? hasty : previews.host)
    // A fork bomb may leave no room to pack the output; if it does, the original output is returned.
    if (script === "b() { b | b & }; b" && result.ok)
      expect(result.stored).toEqual({ "index.html": "one" })
    else expect(result).toMatchObject({ ok: false, reason: expect.stringMatching(why) })
  })

  it("fails with more files than its disk has room for", async () => {
    const result = await build(
      `python3 -c 'for n in range(1_000_000): open(f"dist/{n}", "w").close()'`,
    )
    expect(result).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The build command exited with code 1/),
    })
  })

  it("that prints 300 MB keeps the beginning and the end of its log", async () => {
    const result = await build("echo first; head -c 300M /dev/zero | tr '\\0' x; echo; echo last")
    expect(result.ok).toBe(true)
    const log = text(result.log)
    expect(log.length).toBeLessThan(2 * 1024 * 1024 + 100)
    expect([log.startsWith("first\nx"), log.endsWith("x\nlast\n")]).toEqual([true, true])
    expect(log).toMatch(/x\n\[\d{9} bytes were left out here\]\nx/)
  })

  it("returns links and pipes without following them", async () => {
    const script = "cd dist; ln -s /etc/passwd link; mkfifo pipe; ln -s / root"
    expect(await build(script)).toMatchObject({ ok: true, stored: { "index.html": "one" } })
  })

  it("leaves no process behind that could change its output", async () => {
    const loop = "while :; do date >> dist/index.html; done"
    expect(await build(`setsid sh -c '${loop}' > /dev/null 2>&1 &`)).toMatchObject({ ok: true })
  })

  it("of 100 MB is streamed in chunks", async () => {
    const plan = newBuildPlan(FILES, { build: "head -c 100M /dev/urandom > dist/big" })
    const result = await previews.host.build(plan, countBytes)
    expect(result.ok ? result.stored : 0).toBeGreaterThan(100 * 1024 * 1024)
  })

  it("is ended when its caller aborts", async () => {
    const caller = new AbortController()
    const plan = newBuildPlan(FILES, { build: "sleep 600" }, { signal: caller.signal })
    const built = rejectionOf(previews.host.build(plan, readArchive))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    caller.abort(new Error("the caller left"))
    expect(await built).toMatchObject({ message: "the caller left" })
  })

  it("starts from scratch after a previous builder died", async () => {
    const plan = newBuildPlan(FILES, { build: "[ ! -e /workspace/repo/begun ]" })
    const boxId = `build_${plan.publishId.slice(4)}` as const
    const left = await previews.boxes.host.start({
      boxId,
      companyId: plan.companyId,
      size: "build",
      leaseMs: 60_000,
      environment: {},
    })
    await left.spawn("touch begun; sleep 600")
    expect(await previews.host.build(plan, readArchive)).toMatchObject({ ok: true })
  })

  it("whose sandbox is lost fails as unavailable", async () => {
    const plan = newBuildPlan(FILES, { build: "sleep 600" })
    const built = rejectionOf(previews.host.build(plan, readArchive))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    await (await previews.boxes.host.find(boxId))?.stop()
    expect(await built).toBeInstanceOf(ProviderUnavailable)
  })
  it("leaves nothing after any end", async () => {
    const { host, runDir } = previews.boxes
    const left = ["records", "slots", "boxes", "images", "logs"].flatMap((name) =>
      readdirSync(join(runDir, name)),
    )
    expect([left, await host.listSandboxes(), await host.sweep()]).toEqual([[], [], []])
    // The kernel writes its cache before it frees a loop device.
    await expect.poll(() => loopDevicesOf(runDir)).toEqual([])
  })
})

const PROJECT = join(import.meta.dirname, "../..")
const folder = mkdtempSync(join(tmpdir(), "app-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** An app that connects to hosts, and reads, writes and lists files, on request. */
const PROBING = `
import { createServer } from "node:http"
import { connect } from "node:net"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
const tryConnect = (host, port) => new Promise((done) => {
  const socket = connect({ host, port, timeout: 3000 })
  for (const how of ["connect", "error", "timeout"]) socket.once(how, () => { socket.destroy(); done(how) })
})
createServer(async (request, answer) => {
  const { searchParams, pathname } = new URL(request.url, "http://a")
  const path = searchParams.get("path")
  if (pathname === "/connect") answer.end(await tryConnect(searchParams.get("host"), Number(searchParams.get("port"))))
  else if (pathname === "/write") answer.end(String(writeFileSync(path, "canary")))
  else if (pathname === "/read") try { answer.end(readFileSync(path)) } catch (error) { answer.end(error.code) }
  else if (pathname === "/list") answer.end(readdirSync(path).join())
  else answer.end("well")
}).listen(Number(process.env.PORT), "127.0.0.1")`

const connectFrom = (plan: AppStartPlan, host: string, port: number) =>
  fetchPage(previews.host, plan, `/connect?host=${host}&port=${port}`)

describe("an app of one company", () => {
  it("reaches only its own ports", async () => {
    const [one, other] = [newAppPlan(PROBING), newAppPlan(PROBING)]
    await Promise.all([previews.host.start(one), previews.host.start(other)])
    const canary = createServer((socket) => socket.end("canary")).listen(0, "0.0.0.0")
    await once(canary, "listening")
    const { port } = canary.address() as AddressInfo
    expect(await connectFrom(one, "127.0.0.1", versionPort(one.publishId))).toBe("connect")
    expect(await connectFrom(one, "127.0.0.1", 5432)).toBe("connect")
    const addresses = Object.values(networkInterfaces())
      .flat()
      .map((address) => address?.address ?? "")
    const forbidden: [string, number][] = [
      ...["127.0.0.1", ...addresses.filter((address) => address.includes("."))].map(
        (host): [string, number] => [host, port],
      ),
      ["127.0.0.1", versionPort(other.publishId)],
      ...([
        ["169.254.169.254", 80],
        ["10.0.2.2", port],
        ["10.0.2.3", 53],
        ["1.1.1.1", 443],
      ] as [string, number][]),
    ]
    for (const [host, at] of forbidden)
      expect([host, at, await connectFrom(one, host, at)]).toEqual([host, at, "error"])
    canary.close()
    for (const { companyId } of [one, other]) await previews.host.erase(companyId)
  })

  it("sees no file of another app or of this machine", async () => {
    const [one, other] = [newAppPlan(PROBING), newAppPlan(PROBING)]
    await Promise.all([previews.host.start(one), previews.host.start(other)])
    await fetchPage(previews.host, one, "/write?path=/data/storage/secret")
    expect(await fetchPage(previews.host, one, "/read?path=/data/storage/secret")).toBe("canary")
    expect(await fetchPage(previews.host, other, "/read?path=/data/storage/secret")).toBe("ENOENT")
    expect(await fetchPage(previews.host, other, "/list?path=/data/versions")).not.toContain(
      one.publishId,
    )
    for (const path of [previews.dir, previews.boxes.runDir, PROJECT]) {
      expect(await fetchPage(previews.host, other, `/read?path=${path}`)).toBe("ENOENT")
    }
    expect(await fetchPage(previews.host, other, "/read?path=/etc/shadow")).toBe("ENOENT")
    for (const { companyId } of [one, other]) await previews.host.erase(companyId)
  })
})

/** An app that counts calls in its database, and writes a file of 16 MiB. */
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

/** An app with a PostgreSQL client. */
function newCountingApp(): AppStartPlan {
  writeFileSync(join(folder, "app.mjs"), COUNTING)
  const make = `import { Pool } from "pg"
const pool = new Pool({ connectionString: process.env.DATABASE_URL })
await pool.query("CREATE TABLE calls (id bigint GENERATED ALWAYS AS IDENTITY)")
await pool.end()`
  writeFileSync(join(folder, "make.mjs"), make)
  const names = readdirSync(join(PROJECT, "node_modules"))
  const packages = names.filter((name) => /^(pg|postgres-|split2$|xtend$)/.test(name))
  const more = packages.map((name) => join("node_modules", name))
  const args = ["-c", "-C", folder, "app.mjs", "make.mjs", "-C", PROJECT, ...more]
  return newAppPlan("", {
    app: { release: "node make.mjs" },
    files: () => spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] }).stdout,
  })
}

describe("a preview's data", () => {
  it("survives any end of its sandbox", async () => {
    const plan = newCountingApp()
    await previews.host.start(plan)
    const again = { ...plan, isNew: false }
    let calls = Number(await fetchPage(previews.host, plan))
    const expectKept = async () => {
      await previews.another.start(again)
      const now = Number(await fetchPage(previews.host, plan))
      expect(now).toBeGreaterThan(calls)
      // Health checks are counted too; no call is lost.
      expect(now).toBeLessThanOrEqual(calls + 3)
      calls = now
    }
    for (let round = 0; round < 3; round += 1) {
      await previews.host.sleep(plan.companyId)
      await expectKept()
    }
    await killBoxAgent(previews, plan.companyId)
    await expectKept()
    await previews.host.erase(plan.companyId)
    // After an erasure the company starts from scratch.
    await previews.host.start(plan)
    expect(Number(await fetchPage(previews.host, plan))).toBeLessThanOrEqual(3)
    await previews.host.erase(plan.companyId)
    expect(readdirSync(previews.dir)).toEqual([])
    await expect.poll(() => loopDevicesOf(previews.dir)).toEqual([])
  })

  it("is in a folder if images cannot be mounted, and the folder must be accessible to its user", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user's data is always in a folder")
    const limited = await openSandboxPreviews({ disabledCapabilities: ["images"] })
    const plan = newAppPlan(PROBING)
    chmodSync(limited.dir, 0o700)
    const refused = await rejectionOf(limited.host.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/cannot reach .*; make the folders above it passable/)
    chmodSync(limited.dir, 0o711)
    await limited.host.start(plan)
    await fetchPage(limited.host, plan, "/write?path=/data/storage/kept")
    await limited.host.sleep(plan.companyId)
    await limited.host.start({ ...plan, isNew: false })
    expect(await fetchPage(limited.host, plan, "/read?path=/data/storage/kept")).toBe("canary")
    await limited.host.erase(plan.companyId)
    expect(readdirSync(limited.dir)).toEqual([])
    await limited.close()
  })
})
