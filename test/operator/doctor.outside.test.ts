/** `doctor`: a line for each dependency of the program, and the fix for each problem. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { diskSpaceFinding, gitFinding, nodeFinding } from "../../src/bootstrap/doctor/machine.ts"
import { runDoctor } from "../../src/bootstrap/doctor/doctor.ts"
import type { DoctorFinding } from "../../src/frame/operator/cli/doctor-finding.ts"
import { testDatabase } from "../support/test-database.ts"
import { fakeHost, runTestCommand, testFolder } from "./fake-host.ts"

async function runChecks(
  env: Readonly<Record<string, string>>,
  models?: readonly object[],
  readiness = "ok serving\nok database\nok event store\nok clock\nok read models\nready\n",
  missing: readonly string[] = [],
): Promise<Readonly<Record<string, DoctorFinding>>> {
  // Whether real boxes work depends on the machine.
  const defaults = { LEDGER_DATA_DIR: await testFolder(), PORT: "0", BOX_HOST: "simulator" }
  const config = readConfig({ ...defaults, ...env })
  const server = models && {
    url: "http://127.0.0.1:4101",
    readiness: async () => readiness,
    ask: async (operation: string) => ({
      result:
        operation === "repository list"
          ? { folder: "/code", repositories: missing.map((companyId) => ({ companyId })) }
          : { projections: models },
    }),
  }
  const findings = await runDoctor(config, server ?? null)
  return Object.fromEntries(findings.map((one) => [one.check, one]))
}

async function takenPort(): Promise<number> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  onTestFinished(() => new Promise((done) => server.close(() => done())))
  return (server.address() as AddressInfo).port
}

it("checks every dependency of the program, in order", async () => {
  const { url, drop } = await testDatabase()
  onTestFinished(drop)
  const found = await runChecks({ DATABASE_URL: url })
  expect(Object.keys(found)).toEqual([
    "node",
    "git",
    "bwrap",
    "user namespaces",
    "port",
    "disk",
    "code",
    "boxes",
    "database",
    "event store",
    "streams",
    "read models",
    "simulated",
  ])
  expect(found["database"]).toMatchObject({
    state: "ok",
    says: expect.stringMatching(/^PostgreSQL \d/) as string,
  })
  expect(found["event store"]).toMatchObject({ state: "ok", says: "inside the database" })
})

it("finds the programs of the embedded PostgreSQL without starting it", async () => {
  expect((await runChecks({}))["database"]).toMatchObject({
    state: "ok",
    says: expect.stringMatching(/^embedded PostgreSQL/) as string,
  })
})

it("names a port in use, and the fix", async () => {
  const port = await takenPort()
  const { port: found } = await runChecks({ PORT: String(port) })
  expect(found).toMatchObject({ state: "wrong", says: `127.0.0.1:${port}: EADDRINUSE` })
  expect(found?.fix).toMatch(/set PORT to another/)
})

it("accepts a port that the installation's own server uses", async () => {
  const port = await takenPort()
  const { port: found } = await runChecks({ PORT: String(port) }, [])
  expect(found).toMatchObject({
    state: "ok",
    says: "a server of this installation is at http://127.0.0.1:4101",
  })
})

it("names the store that does not answer, without its password", async () => {
  const port = await takenPort()
  const found = await runChecks({
    DATABASE_URL: "postgres://someone:secret@127.0.0.1:1/ledger",
    LEDGER_EVENTSTORE_URL: `esdb://admin:secret@127.0.0.1:${port}?tls=false`,
  })
  for (const [check, fix] of [
    ["database", /DATABASE_URL/],
    ["event store", /LEDGER_EVENTSTORE_URL/],
  ] as const) {
    expect(found[check]).toMatchObject({
      state: "wrong",
      fix: expect.stringMatching(fix) as string,
    })
  }
  expect(JSON.stringify(found)).not.toContain("secret")
})

it("asks a running server about its stores", async () => {
  const readiness =
    "ok serving\nok database\nfail event store no answer in 1000 ms\nok clock\nnot ready\n"
  const found = await runChecks({}, [], readiness)
  expect(found["database"]).toMatchObject({ state: "ok", says: "answers the server" })
  expect(found["event store"]).toMatchObject({ state: "wrong", says: "no answer in 1000 ms" })
  expect(found["read models"]).toBeUndefined()
})

it("names stopped read models, and counts how many facts the others are behind", async () => {
  const late = { name: "charges", behind: 3, fault: null }
  const elsewhere = { name: "limits", behind: null, fault: null }
  expect((await runChecks({}, [late, elsewhere]))["read models"]).toMatchObject({
    state: "ok",
    says: "2 running, 3 facts behind",
  })
  const stopped = { name: "people", behind: 1, fault: "access-1 revision 3: no" }
  expect((await runChecks({}, [late, stopped]))["read models"]).toMatchObject({
    state: "wrong",
    says: "people stopped: access-1 revision 3: no",
    fix: expect.stringMatching(/projections rebuild people/) as string,
  })
})

it.each([
  ["22.18.0", "ok"],
  ["24.0.1", "ok"],
  ["22.17.9", "wrong"],
  ["20.20.0", "wrong"],
])("Node %s is %s", (version, state) => {
  expect(nodeFinding(version).state).toBe(state)
})

it.each([
  ["git version 2.34.0", "ok"],
  ["git version 2.39.5 (Apple Git-154)", "ok"],
  ["git version 3.0", "ok"],
  ["git version 2.33.9", "missing"],
  ["git version 1.99.0", "missing"],
  ["something else", "missing"],
])("%s is %s", (line, state) => {
  expect(gitFinding({ line }).state).toBe(state)
})

it.each([
  [2 ** 31, "ok"],
  [2 ** 31 - 1, "scarce"],
  [2 ** 27, "scarce"],
  [2 ** 27 - 1, "wrong"],
])("%i free bytes are %s", (bytes, state) => {
  expect(diskSpaceFinding(bytes, "data").state).toBe(state)
})

it("prints a line per finding, and exits 1 if something is wrong", async () => {
  const findings: DoctorFinding[] = [{ check: "node", state: "ok", says: "24.0.0", fix: null }]
  const host = fakeHost([], { runDoctor: async () => findings })
  expect(await runTestCommand(["doctor"], host)).toEqual({
    code: 0,
    stdout: "ok  node  24.0.0\n",
    stderr: "",
  })
  findings.push({ check: "port", state: "wrong", says: "taken", fix: "set PORT" })
  expect(await runTestCommand(["doctor"], host)).toMatchObject({
    code: 1,
    stdout: "ok     node  24.0.0\nwrong  port  taken -> set PORT\n",
  })
  const { stdout } = await runTestCommand(["doctor", "--json"], host)
  expect(JSON.parse(stdout)).toEqual({ ok: false, findings })
})

it("lists the simulated providers, from the settings or from the server", async () => {
  const says = "cards, mailer, carrier: nothing leaves this machine"
  expect((await runChecks({}))["simulated"]?.says).toMatch(/^[a-z, ]+: nothing leaves this machine/)
  const simulated = "ok simulated cards, mailer, carrier"
  const ready = `ok database\nok event store\nok clock\n${simulated}\nready\n`
  expect((await runChecks({}, [], ready))["simulated"]).toMatchObject({ state: "ok", says })
})

it("names unknown settings, and jobs that wait for an operator", async () => {
  const ready = "ok database\nok event store\nok clock\nwarn work stuck: 2\nready\n"
  const found = await runChecks({ LEDGER_DATADIR: "/tmp/x" }, [], ready)
  expect(found["settings"]?.says).toBe(
    "Unknown setting LEDGER_DATADIR: did you mean LEDGER_DATA_DIR?",
  )
  expect(found["jobs"]).toMatchObject({
    state: "wrong",
    says: "stuck: 2",
    fix: expect.stringContaining("job list") as string,
  })
})

it("names a payment processor that rejects requests", async () => {
  const ready = (line: string) => `ok database\nok event store\nok clock\n${line}\nready\n`
  const rejected = await runChecks({}, [], ready("warn cards ProviderMisconfigured"))
  expect(rejected["cards"]).toMatchObject({
    state: "wrong",
    says: "ProviderMisconfigured",
    fix: expect.stringContaining("CARDS_STRIPE_KEY") as string,
  })
  expect((await runChecks({}, [], ready("ok cards")))["cards"]).toMatchObject({ state: "ok" })
})

it("counts the repositories, or says why their folder cannot be used", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ledger-doctor-"))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const at = async (name: string) => (await runChecks({ CODE_DIR: join(folder, name) }))["code"]
  expect(await at("code")).toMatchObject({
    state: "ok",
    says: expect.stringMatching(/^no repositories yet in /) as string,
  })
  await mkdir(join(folder, "code", "636f5f61"), { recursive: true })
  await mkdir(join(folder, "code", "636f5f61.erased"))
  expect(await at("code")).toMatchObject({
    state: "ok",
    says: expect.stringMatching(/^1 repositories in /) as string,
  })
  await writeFile(join(folder, "file"), "")
  expect(await at("file")).toMatchObject({
    state: "wrong",
    fix: expect.stringMatching(/set CODE_DIR to another one$/) as string,
  })
  expect(await at("file/below")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(/cannot be used: /) as string,
  })
})

it("names a company whose repository the server does not find", async () => {
  const found = await runChecks({}, [], undefined, ["co_abcdef"])
  expect(found["code"]).toMatchObject({
    state: "wrong",
    says: "the repository of co_abcdef is missing from /code",
  })
})
