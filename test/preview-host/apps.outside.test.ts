/** Apps in their sandboxes: their environment, how they end, and the data that they keep. */
import { describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { AppStartFailed, type AppStartPlan } from "../../adapters/sandbox/preview-host/port.ts"
import { versionPort } from "../../adapters/sandbox/preview-host/sandboxed-previews.ts"
import { rejectionOf } from "../boxhost/sandbox-hosts.ts"
import { fetchPage } from "./preview-client.ts"
import { killBoxAgent, ownSandboxPreviews } from "./sandbox-previews.ts"
import { newAppPlan, newPublishId, tarStreamOf } from "./plans.ts"

const previews = await ownSandboxPreviews({
  timeouts: { crashDelayMs: 10, startupTimeoutMs: 20_000 },
})

const serverCode = (body: string): string => `
import { createServer } from "node:http"
import * as fs from "node:fs"
import { spawn } from "node:child_process"
createServer(async (request, answer) => {
  answer.end(String(await (async () => { ${body} })()))
}).listen(Number(process.env.PORT), "127.0.0.1")`

/** Starts an app; returns the plan that wakes it up again. */
async function startApp(plan: AppStartPlan): Promise<AppStartPlan> {
  await previews.host.start(plan)
  return { ...plan, isNew: false }
}

const failureOf = async (plan: AppStartPlan, host = previews.host): Promise<AppStartFailed> => {
  const error = await rejectionOf(host.start(plan))
  if (error instanceof AppStartFailed) return error
  throw new Error("the start did not fail with AppStartFailed", { cause: error })
}

describe("an app", () => {
  it("gets its port, database, storage and URL, which its own variables cannot override", async () => {
    const env = {
      PORT: "1",
      DATABASE_URL: "no",
      STORAGE_DIR: "no",
      PREVIEW_URL: "no",
      WORD: "it's",
    }
    const code = serverCode(
      "return JSON.stringify({ env: process.env, id: process.getuid(), cwd: process.cwd() })",
    )
    const plan = await startApp(newAppPlan(code, { env }))
    const seen = JSON.parse((await fetchPage(previews.host, plan)) ?? "") as { env: object }
    expect(seen).toMatchObject({
      id: 1000,
      cwd: `/data/versions/${plan.publishId}`,
      env: {
        PORT: String(versionPort(plan.publishId)),
        STORAGE_DIR: "/data/storage",
        WORD: "it's",
        DATABASE_URL: expect.stringMatching(
          /^postgres:\/\/app:[0-9a-f]{36}@127\.0\.0\.1:5432\/app$/,
        ),
        PREVIEW_URL: plan.url,
      },
    })
    await previews.host.erase(plan.companyId)
  })

  it.for([
    [
      "never listens",
      'console.log("here"); setInterval(() => {}, 1_000)',
      "did not listen on PORT",
    ],
    [
      "answers with an error",
      serverCode('console.log("here"); answer.statusCode = 503'),
      "answered GET / with 503",
    ],
  ] as const)("that %s fails to start, and leaves nothing", async ([, code, fault]) => {
    const plan = newAppPlan(code)
    let passedMs = 0
    const elapsedMs = () => machinePacer.elapsedMs() + passedMs
    const failed = failureOf(
      plan,
      previews.open({ pacer: { ...machinePacer, elapsedMs }, timeouts: {} }),
    )
    const log = async () => (await previews.host.readStatus(plan.companyId))?.versions[0]?.log
    await expect.poll(log).toContain("here\n")
    passedMs = 60_000
    expect((await failed).message).toBe(`The app ${fault} within 60 seconds.`)
    expect((await failed).log).toContain("here\n")
    expect((await previews.host.readStatus(plan.companyId))?.versions).toEqual([])
    await previews.host.erase(plan.companyId)
  })

  it.for([
    ["ends immediately", 'console.log("bye"); process.exit(3)', "bye\n"],
    ["is not a program", "this is no program", "SyntaxError"],
  ] as const)("that %s fails to start", async ([, code, log]) => {
    const plan = newAppPlan(code)
    const failed = await failureOf(plan)
    expect(failed.message).toBe("The app ended before it answered; it did not listen on PORT.")
    expect(failed.log).toContain(log)
    await previews.host.erase(plan.companyId)
  })

  it("that crashes is restarted, but not forever", async () => {
    const code = serverCode(`if (request.url === "/crash") process.exit(9); return "well"`)
    const plan = await startApp(newAppPlan(code))
    for (let crash = 1; crash <= 4; crash += 1) {
      await rejectionOf(fetchPage(previews.host, plan, "/crash"))
      await expect.poll(() => rejectionOf(fetchPage(previews.host, plan))).toBeNull()
      await expect.poll(() => fetchPage(previews.host, plan)).toBe("well")
    }
    await rejectionOf(fetchPage(previews.host, plan, "/crash"))
    const versions = async () => (await previews.host.readStatus(plan.companyId))?.versions
    await expect.poll(async () => (await versions())?.[0]?.status).toBe("down")
    expect((await versions())?.[0]?.log).toContain("it is not restarted")
    expect(await previews.host.connect(plan)).toBeNull()
    // Another start starts it again.
    await previews.host.start(plan)
    expect(await fetchPage(previews.host, plan)).toBe("well")
    expect((await versions())?.map(({ status }) => status)).toEqual(["running"])
    await previews.host.erase(plan.companyId)
  })

  it("that crashes occasionally is restarted each time", async () => {
    const host = previews.open({ timeouts: { crashDelayMs: 10, crashWindowMs: 10 } })
    const plan = newAppPlan(
      serverCode(`if (request.url === "/crash") process.exit(9); return "well"`),
    )
    await host.start(plan)
    for (let crash = 1; crash <= 7; crash += 1) {
      await rejectionOf(fetchPage(host, plan, "/crash"))
      await expect.poll(() => rejectionOf(fetchPage(host, plan))).toBeNull()
      await expect.poll(() => fetchPage(host, plan)).toBe("well")
    }
    await previews.host.erase(plan.companyId)
  })

  it("runs its release once before its first start, and does not start if the release fails", async () => {
    const code = serverCode('return fs.readFileSync("/data/storage/released")')
    const release = "echo once | tee -a /data/storage/released"
    const released = newAppPlan(code, { app: { release } })
    expect(await previews.host.start(released)).toBe("once\n")
    expect(await previews.host.start(released)).toBe("")
    expect(await fetchPage(previews.host, released)).toBe("once\n")
    const publishId = newPublishId()
    const app = { release: "echo bad >&2; exit 3" }
    const failed = await failureOf({
      ...newAppPlan(code, { app }),
      companyId: released.companyId,
      publishId,
    })
    expect([failed.message, failed.log]).toEqual(["The release exited with code 3.", "bad\n"])
    expect(await fetchPage(previews.host, released)).toBe("once\n")
    await previews.host.sleep(released.companyId)
    expect(await previews.host.start({ ...released, isNew: false })).toBe("")
    expect(await fetchPage(previews.host, released)).toBe("once\n")
    // After an erasure the database is new, and the release runs again.
    await previews.host.erase(released.companyId)
    expect(await previews.host.start({ ...released, isNew: false })).toBe("once\n")
    expect(await fetchPage(previews.host, released)).toBe("once\n")
    await previews.host.erase(released.companyId)
  })

  it("is ended together with all processes that it started", async () => {
    const stubborn = serverCode(`
      if (request.url === "/") return
      for (const detached of [true, false])
        spawn("sh", ["-c", "trap '' TERM; while :; do sleep 1; done"], { detached, stdio: "ignore" }).unref()
      return "begun"`)
    const plan = await startApp(newAppPlan(`process.on("SIGTERM", () => {});${stubborn}`))
    const other = await startApp({
      ...newAppPlan(
        serverCode(`
      const all = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name))
      const commandLine = (pid) => { try { return fs.readFileSync("/proc/" + pid + "/cmdline", "utf8") } catch { return "" } }
      return all.map(commandLine).filter((line) => line.includes("while :; do sleep 1")).length`),
      ),
      companyId: plan.companyId,
    })
    await fetchPage(previews.host, plan, "/begin")
    expect(await fetchPage(previews.host, other)).toBe("2")
    // This host's clock runs ten times faster.
    const elapsedMs = () => machinePacer.elapsedMs() * 10
    await previews.open({ pacer: { ...machinePacer, elapsedMs } }).removeVersion(plan)
    expect(await fetchPage(previews.host, other)).toBe("0")
    expect(await previews.host.connect(plan)).toBeNull()
    await previews.host.erase(plan.companyId)
  })

  it("has a second to end after SIGTERM", async () => {
    const polite = `process.on("SIGTERM", () => { fs.writeFileSync("/data/storage/bye", "bye"); process.exit() })`
    const plan = await startApp(newAppPlan(`${serverCode('return "well"')}\n${polite}`))
    await previews.host.sleep(plan.companyId)
    const reading = newAppPlan(serverCode('return fs.readFileSync("/data/storage/bye")'))
    await previews.host.start({ ...reading, companyId: plan.companyId })
    expect(await fetchPage(previews.host, reading)).toBe(null)
    expect(await fetchPage(previews.host, { ...reading, companyId: plan.companyId })).toBe("bye")
    await previews.host.erase(plan.companyId)
  })

  it("keeps only the files of running versions", async () => {
    const code = serverCode('return fs.readdirSync("/data/versions").join()')
    const first = await startApp(newAppPlan(code))
    const second = await startApp({ ...first, isNew: true, publishId: newPublishId() })
    const names = async () =>
      ((await fetchPage(previews.host, second)) ?? "").replaceAll(".complete", "")
    expect(new Set((await names()).split(","))).toEqual(
      new Set([first.publishId, second.publishId]),
    )
    await previews.host.removeVersion(first)
    expect(await names()).toBe(`${second.publishId},${second.publishId}`)
    // A version that ended with its sandbox is deleted once another one has started.
    await previews.host.sleep(second.companyId)
    const third = await startApp({ ...first, isNew: true, publishId: newPublishId() })
    expect(await fetchPage(previews.host, third)).not.toContain(second.publishId)
    await previews.host.erase(first.companyId)
  })

  it("that fills its storage is ended, and cannot start again", async () => {
    const body =
      'return await new Promise((done) => spawn("fallocate", ["-l", "1100M", "/data/storage/big"]).on("exit", done))'
    const plan = await startApp(
      newAppPlan(serverCode(`if (request.url === "/fill") { ${body} } return "well"`)),
    )
    expect(await fetchPage(previews.host, plan, "/fill")).toBe("0")
    const running = async () => (await previews.host.readStatus(plan.companyId))?.versions.length
    await expect.poll(running).toBe(0)
    expect((await failureOf(plan)).message).toMatch(/^The preview's storage is larger than 1 GiB/)
    expect(await previews.host.measureBytes(plan.companyId)).toBeGreaterThan(1_100 * 1024 * 1024)
    await previews.host.erase(plan.companyId)
  })

  it("starts again after its box agent was killed", async () => {
    const plan = await startApp(
      newAppPlan(serverCode('fs.writeFileSync("/data/storage/x", "kept"); return "well"')),
    )
    await fetchPage(previews.host, plan)
    await killBoxAgent(previews, plan.companyId)
    expect(await previews.another.readStatus(plan.companyId)).toBeNull()
    await previews.another.start(plan)
    expect(await fetchPage(previews.host, plan)).toBe("well")
    await previews.host.erase(plan.companyId)
  })

  it("is rejected for an invalid variable name, an invalid health path or truncated files", async () => {
    const plan = newAppPlan(serverCode('return "well"'), { env: { "A B": "c" } })
    expect((await failureOf(plan)).message).toBe(
      '"A B" is not a valid variable name: use letters, digits and underscores.',
    )
    const pathless = { ...newAppPlan("", { app: { health: "a b" } }), companyId: plan.companyId }
    expect((await failureOf(pathless)).message).toBe(
      '"a b" is not a valid health path: start it with / and use no spaces.',
    )
    const torn = async function* () {
      for await (const piece of tarStreamOf({ "app.mjs": "x".repeat(10_000) }))
        yield piece.subarray(0, 600)
    }
    const second = {
      ...newAppPlan(serverCode('return "well"'), { files: torn }),
      companyId: plan.companyId,
    }
    expect((await failureOf(second)).message).toMatch(
      /^The app's files could not be unpacked: tar: /,
    )
    await previews.host.erase(plan.companyId)
  })
})
