/** Builds that do what they like, what apps do not reach, and what of a preview lasts. */
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
/** One that waits for three seconds only. */
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
  it("installs, then builds, in its root with its variables", async () => {
    const said = await previews.host.build(
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
    expect(said).toMatchObject({ ok: true, stored: { c: "onetwo\n" } })
    expect(text(said.log)).toBe("a 'word' $HOME\nbad\n/workspace/repo/app\n")
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
  ] as const)("says what its %s failed with", async ([, recipe, why, log]) => {
    const said = await previews.host.build(newBuildPlan(FILES, recipe), readArchive)
    expect({ ...said, log: text(said.log) }).toEqual({ ok: false, reason: why, log })
  })

  it("is ended when its time is over, and tells what it wrote until then", async () => {
    const said = await build("echo begun; sleep 600", {}, hasty)
    expect(said).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The build command did not end in time/),
    })
    expect(text(said.log)).toBe("begun\n")
  })

  it.for([
    [
      "a bomb of processes",
      "b() { b | b & }; b; sleep 60",
      /^The build command (did not end in time|exited with)/,
    ],
    ["a bomb that it leaves behind", "b() { b | b & }; b", /./],
    [
      "a disk that is full",
      "head -c 6G /dev/zero > big1; head -c 6G /dev/zero > big2",
      /^The build/,
    ],
    [
      "a disk that is full, quietly",
      "head -c 5M /dev/urandom > dist/big; cat /dev/zero > /tmp/x; cat /dev/zero > /tmp/y; true",
      /^The build's disk of 4 GiB has no room left/,
    ],
    ["its root taken away", "rm -rf /workspace/repo", /^The build created no folder dist\.$/],
    ["a link as its folder", "rm -r dist; ln -s /etc dist", /^The build created dist as a link/],
    [
      "a file as its folder",
      "rm -r dist; echo > dist",
      /^The build's output dist is not a readable folder/,
    ],
    [
      "more than may be kept",
      "head -c 501000000 /dev/zero > dist/big",
      /^The folder dist is larger/,
    ],
    [
      "more memory than it may",
      "exec python3 -c 'x = [bytearray(1 << 24) for _ in range(200)]'",
      /^The build command exited with code (137|1)/,
    ],
    ["its own end", "kill -9 -1; kill -9 1", /^The build command exited with code 137/],
  ] as const)("comes to nothing with %s", async ([, script, why]) => {
    const isBomb = script.startsWith("b()")
    const said = await build(script, {}, isBomb ? hasty : previews.host)
    // A bomb may have left itself no room; where it has, what was there is handed on.
    if (script === "b() { b | b & }; b" && said.ok)
      expect(said.stored).toEqual({ "index.html": "one" })
    else expect(said).toMatchObject({ ok: false, reason: expect.stringMatching(why) })
  })

  it("with more files than its disk has room for comes to nothing", async () => {
    const said = await build(
      `python3 -c 'for n in range(1_000_000): open(f"dist/{n}", "w").close()'`,
    )
    expect(said).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/^The build command exited with code 1/),
    })
  })

  it("that prints 300 MB has its beginning and its end", async () => {
    const said = await build("echo first; head -c 300M /dev/zero | tr '\\0' x; echo; echo last")
    expect(said.ok).toBe(true)
    const log = text(said.log)
    expect(log.length).toBeLessThan(2 * 1024 * 1024 + 100)
    expect([log.startsWith("first\nx"), log.endsWith("x\nlast\n")]).toEqual([true, true])
    expect(log).toMatch(/x\n\[\d{9} bytes were left out here\]\nx/)
  })

  it("hands links and pipes on as what they are, and not what they lead to", async () => {
    const script = "cd dist; ln -s /etc/passwd link; mkfifo pipe; ln -s / root"
    expect(await build(script)).toMatchObject({ ok: true, stored: { "index.html": "one" } })
  })

  it("leaves no process behind that could change what it built", async () => {
    const loop = "while :; do date >> dist/index.html; done"
    expect(await build(`setsid sh -c '${loop}' > /dev/null 2>&1 &`)).toMatchObject({ ok: true })
  })

  it("of 100 MB is handed on in pieces", async () => {
    const plan = newBuildPlan(FILES, { build: "head -c 100M /dev/urandom > dist/big" })
    const said = await previews.host.build(plan, countBytes)
    expect(said.ok ? said.stored : 0).toBeGreaterThan(100 * 1024 * 1024)
  })

  it("is ended when nobody waits for it any more", async () => {
    const leaving = new AbortController()
    const plan = newBuildPlan(FILES, { build: "sleep 600" }, { signal: leaving.signal })
    const built = rejectionOf(previews.host.build(plan, readArchive))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    leaving.abort(new Error("nobody waits"))
    expect(await built).toMatchObject({ message: "nobody waits" })
  })

  it("is begun anew where who began it has died", async () => {
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

  it("whose sandbox is taken away is nobody's fault", async () => {
    const plan = newBuildPlan(FILES, { build: "sleep 600" })
    const built = rejectionOf(previews.host.build(plan, readArchive))
    const boxId = `build_${plan.publishId.slice(4)}` as const
    await expect.poll(() => previews.boxes.host.find(boxId)).not.toBeNull()
    await (await previews.boxes.host.find(boxId))?.stop()
    expect(await built).toBeInstanceOf(ProviderUnavailable)
  })
  it("leaves nothing, however it ended", async () => {
    const { host, runDir } = previews.boxes
    const left = ["records", "slots", "boxes", "images", "logs"].flatMap((name) =>
      readdirSync(join(runDir, name)),
    )
    expect([left, await host.listSandboxes(), await host.sweep()]).toEqual([[], [], []])
    // The kernel writes what is in its memory before it lets a disk go.
    await expect.poll(() => loopDevicesOf(runDir)).toEqual([])
  })
})

const PROJECT = join(import.meta.dirname, "../..")
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

const connects = (plan: AppStartPlan, host: string, port: number) =>
  fetchPage(previews.host, plan, `/connect?host=${host}&port=${port}`)

describe("an app of one company", () => {
  it("reaches its own ports, and nobody else's", async () => {
    const [one, other] = [newAppPlan(PROBING), newAppPlan(PROBING)]
    await Promise.all([previews.host.start(one), previews.host.start(other)])
    const canary = createServer((socket) => socket.end("canary")).listen(0, "0.0.0.0")
    await once(canary, "listening")
    const { port } = canary.address() as AddressInfo
    expect(await connects(one, "127.0.0.1", versionPort(one.publishId))).toBe("connect")
    expect(await connects(one, "127.0.0.1", 5432)).toBe("connect")
    const own = Object.values(networkInterfaces())
      .flat()
      .map((address) => address?.address ?? "")
    const forbidden: [string, number][] = [
      ...["127.0.0.1", ...own.filter((address) => address.includes("."))].map(
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
      expect([host, at, await connects(one, host, at)]).toEqual([host, at, "error"])
    canary.close()
    for (const { companyId } of [one, other]) await previews.host.erase(companyId)
  })

  it("sees no file of another, nor of this machine", async () => {
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
function counting(): AppStartPlan {
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
  return newAppPlan("", {
    app: { release: "node make.mjs" },
    files: () => spawn("tar", words, { stdio: ["ignore", "pipe", "inherit"] }).stdout,
  })
}

describe("what a preview has", () => {
  it("lasts, whatever ends its sandbox", async () => {
    const plan = counting()
    await previews.host.start(plan)
    const again = { ...plan, isNew: false }
    let calls = Number(await fetchPage(previews.host, plan))
    const expectKept = async () => {
      await previews.another.start(again)
      const now = Number(await fetchPage(previews.host, plan))
      expect(now).toBeGreaterThan(calls)
      // The calls by which it is found well are counted too; none is lost.
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
    // A company that was erased begins anew.
    await previews.host.start(plan)
    expect(Number(await fetchPage(previews.host, plan))).toBeLessThanOrEqual(3)
    await previews.host.erase(plan.companyId)
    expect(readdirSync(previews.dir)).toEqual([])
    await expect.poll(() => loopDevicesOf(previews.dir)).toEqual([])
  })

  it("lies in a folder where none can be mounted, if its user reaches it", async (ctx) => {
    ctx.skip(!isRoot, "an ordinary user has nothing else")
    const poor = await openSandboxPreviews({ disabledCapabilities: ["images"] })
    const plan = newAppPlan(PROBING)
    chmodSync(poor.dir, 0o700)
    const refused = await rejectionOf(poor.host.start(plan))
    expect(refused).toBeInstanceOf(ProviderUnavailable)
    expect(String(refused)).toMatch(/cannot reach .*; make the folders above it passable/)
    chmodSync(poor.dir, 0o711)
    await poor.host.start(plan)
    await fetchPage(poor.host, plan, "/write?path=/data/storage/kept")
    await poor.host.sleep(plan.companyId)
    await poor.host.start({ ...plan, isNew: false })
    expect(await fetchPage(poor.host, plan, "/read?path=/data/storage/kept")).toBe("canary")
    await poor.host.erase(plan.companyId)
    expect(readdirSync(poor.dir)).toEqual([])
    await poor.close()
  })
})
