/** Three processes behind nginx with the configuration of `deploy/nginx`; one is killed and one added under load. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { NginxServer } from "../support/debian-programs.ts"
import { checkNginxConfig, findNginx, startNginx } from "../support/debian-programs.ts"
import type { TestDatabase } from "../support/test-database.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { ROOT } from "../conventions/source-tree.ts"
import type { LoadedCompany, ServedText } from "./many-companies.ts"
import { expectExactTexts, makeCompanies, quantile, sendRoundRobin } from "./many-companies.ts"
import { roundCount } from "./text-load.ts"

const COMPANIES = roundCount(30, 1_000)
const CALLERS = roundCount(6, 16)
/** Number of texts that fit within a limited company's limit. */
const TEXTS_WITHIN_LIMIT = 2
const FOLDER = join(ROOT, "deploy", "nginx")
const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8")

/** The configuration of `deploy/nginx` with these upstream addresses. */
function configFor(addresses: readonly string[], listen: string, isAffine = true): string {
  const upstream = read("ledger-upstream.conf")
    .replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, () =>
      addresses.map((one) => `  server ${one} max_fails=1 fail_timeout=5s;\n`).join(""),
    )
    .replace(isAffine ? "" : "hash $ledger_company consistent;", "")
  return [
    upstream,
    `server { listen ${listen}; add_header x-served-by $upstream_addr always;`,
    `include ${FOLDER}/ledger-locations.conf; }`,
  ].join("\n")
}

const nginx = findNginx()
const folders: ServerDataFolder[] = []
const servers: ServerProcess[] = []
const folder = mkdtempSync(join(tmpdir(), "ledger-nginx-"))
let database: TestDatabase
let front: NginxServer
let listen = ""
let companies: readonly LoadedCompany[] = []

/** Operator commands go to the second process, which is never killed. */
const operator = () => folders[1] as ServerDataFolder

const addressOf = ({ url }: ServerProcess): string => new URL(url).host

async function addProcess(): Promise<ServerProcess> {
  const dataFolder = await makeDataFolder({ DATABASE_URL: database.url, RATE_LIMITS: "off" })
  folders.push(dataFolder)
  const server = await dataFolder.start()
  servers.push(server)
  return server
}

/** Number of calls and their latency, for the log of the run. */
function figures(served: readonly ServedText[]): string {
  const took = served.map(({ tookMs }) => tookMs)
  const [middle, most] = [quantile(took, 0.5), quantile(took, 0.99)]
  return `${served.length} calls, p50 ${middle.toFixed(0)} ms, p99 ${most.toFixed(0)} ms`
}

function serversByCompany(served: readonly ServedText[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const { company, by } of served) {
    found.set(company, (found.get(company) ?? new Set()).add(by))
  }
  return found
}

describe("three processes behind nginx", () => {
  beforeEach((ctx) => ctx.skip("missing" in nginx, "missing" in nginx ? nginx.missing : ""))
  beforeAll(async () => {
    if ("missing" in nginx) return
    database = await worldDatabase()
    await addProcess()
    await addProcess()
    companies = await makeCompanies(operator(), COMPANIES, TEXTS_WITHIN_LIMIT)
    await addProcess()
    front = await startNginx(nginx.program, folder, (at) => {
      listen = at
      return configFor(servers.map(addressOf), at)
    })
  }, 1_200_000)
  afterAll(async () => {
    await front?.stop()
    for (const dataFolder of folders) await dataFolder.removeFiles()
    await database?.drop()
    rmSync(folder, { recursive: true })
  }, 600_000)

  it("serve one public address, without metrics and health checks", async () => {
    expect((await fetch(`${front.url}/docs`)).status).toBe(200)
    for (const path of ["/metrics", "/readyz", "/livez"]) {
      expect((await fetch(`${front.url}${path}`)).status).toBe(404)
    }
  })

  it("exceed no limit and lose nothing but calls in progress while one is killed and one added", async () => {
    const load = sendRoundRobin(front.url, companies, CALLERS)
    await load.sendMore(COMPANIES)
    const before = [...load.served]
    for (const [, by] of serversByCompany(before)) expect(by.size).toBe(1)
    expect(new Set(before.map(({ by }) => by))).toEqual(new Set(servers.map(addressOf)))

    const [killed] = servers as [ServerProcess]
    const killedAt = performance.now()
    await killed.endBySignal("SIGKILL")
    await load.sendMore(COMPANIES)
    const added = await addProcess()
    const alive = servers.filter((server) => server !== killed).map(addressOf)
    await front.reload(configFor(alive, listen))
    const addedAt = performance.now()
    await load.sendMore(2 * COMPANIES)
    await load.end()

    const isBetween = ({ startedAt }: ServedText) => startedAt >= killedAt && startedAt < addedAt
    const after = load.served.filter(({ startedAt }) => startedAt >= addedAt)
    expect(new Set(after.map(({ by }) => by))).toContain(addressOf(added))
    await expectExactTexts(operator(), companies)
    // The kill caused no rejection: callers with a call in progress repeated it, and were served.
    const repeated = load.served.filter((one) => one.repeatCount > 0)
    console.info(`before:  ${figures(before)}`)
    console.info(`between: ${figures(load.served.filter(isBetween))}`)
    console.info(`after:   ${figures(after)}; ${repeated.length} were repeated`)
  }, 3_600_000)

  it("charge exactly without affinity too", async () => {
    const alive = servers.slice(1).map(addressOf)
    for (const isAffine of [true, false]) {
      await front.reload(configFor(alive, listen, isAffine))
      const load = sendRoundRobin(front.url, companies, CALLERS)
      await load.sendMore(2 * COMPANIES)
      await load.end()
      const most = Math.max(...[...serversByCompany(load.served)].map(([, by]) => by.size))
      if (!isAffine) expect(most).toBeGreaterThan(1)
      console.info(`${isAffine ? "with" : "without"} affinity: ${figures(load.served)}`)
    }
    await expectExactTexts(operator(), companies)
  }, 3_600_000)

  it("have a configuration that nginx accepts, with the public name and its certificate", (ctx) => {
    if ("missing" in nginx) return
    const isInstalled = spawnSync("openssl", ["version"]).error === undefined
    ctx.skip(!isInstalled, "openssl is not installed")
    const [key, pem] = [join(folder, "privkey.pem"), join(folder, "fullchain.pem")]
    const words = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ledger.example.com"]
    spawnSync("openssl", ["req", "-x509", ...words, "-keyout", key, "-out", pem])
    const server = read("ledger-server.conf")
      .replaceAll("/etc/ssl/ledger", folder)
      .replaceAll("/etc/nginx", FOLDER)
    const output = checkNginxConfig(
      nginx.program,
      folder,
      `${read("ledger-upstream.conf")}\n${server}`,
    )
    expect(output).toContain("test is successful")
  })
})
