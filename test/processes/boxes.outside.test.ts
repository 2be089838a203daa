/** With multiple processes on one machine, every process can work in every box. */
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest"
import { tagOfId } from "../../domain/kernel/ids.ts"
import { homeWorkerOf } from "../../adapters/postgres/home-worker.ts"
import { writeBundle, makeWorkingCopy } from "../code/git.ts"
import { noSandboxReason, sandboxRequirement } from "../boxhost/sandbox-hosts.ts"
import { makeSender } from "../faults/charge-audit.ts"
import type { Company } from "../support/company.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"

const PROCESSES = 2
const BOXES = "/api/v1/sandboxes"

const folder = mkdtempSync(join(tmpdir(), "ledger-processes-"))
let place: ServerDataFolder
let server: ServerProcess
/** Per process number, a sender whose home is that process. */
const senders = new Map<number, Company>()

beforeEach((ctx) => ctx.skip(noSandboxReason !== null, sandboxRequirement))
beforeAll(async () => {
  if (noSandboxReason !== null) return
  place = await makeDataFolder({ RATE_LIMITS: "off" })
  const bundle = writeBundle(makeWorkingCopy(folder, { "README.md": "A company." }))
  server = await place.start("--processes", String(PROCESSES))
  while (senders.size < PROCESSES) {
    const sender = await makeSender(place)
    await place.runCommand("repository", "import", bundle, "--company", sender.companyId)
    senders.set(homeWorkerOf(tagOfId(sender.companyId), PROCESSES) as number, sender)
  }
}, 120_000)
afterAll(async () => {
  await place?.removeFiles()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

interface Answer {
  readonly status: number
  // Each test asserts the body's type.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** Calls the API through an agent whose connection can stay open. */
function call(agent: Agent, { key }: Company, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  return new Promise<Answer>((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { agent, method, headers }, (answer) => {
      let text = ""
      answer.setEncoding("utf8").on("data", (part: string) => (text += part))
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }))
    })
    sent.once("error", reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

it("runs commands in a box from a process that is not its company's home", async () => {
  const [one, two] = [senders.get(1) as Company, senders.get(2) as Company]
  for (const [home, owner, other] of [
    [1, one, two],
    [2, two, one],
  ] as const) {
    const made = await call(new Agent(), owner, "POST", BOXES, { size: "small", maxMinutes: 5 })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const path = `${BOXES}/${made.body.id}`
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    // The other company's call opens the connection, so its home process serves the calls that follow.
    expect((await call(agent, other, "GET", BOXES)).status).toBe(200)
    await expect
      .poll(async () => (await call(agent, owner, "GET", path)).body.status, { timeout: 60_000 })
      .toBe("running")
    const ran = await call(agent, owner, "POST", `${path}/exec`, { command: `echo home ${home}` })
    expect(ran).toMatchObject({ status: 200, body: { stdout: `home ${home}\n`, exitCode: 0 } })
    expect((await call(agent, owner, "DELETE", path)).status).toBe(200)
    agent.destroy()
  }
}, 180_000)
