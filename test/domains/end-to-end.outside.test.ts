/**
 * From a domain at a former host to a signed mail, on one machine and without simulators: names are resolved over
 * the network, our name server answers, and a real mail server receives the mail.
 */
import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { dkimVerify } from "mailauth"
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { nameServerDaemon } from "../../src/domains/providers/name-server.ts"
import { missingDnsProgramReason, zoneRecord, zoneWith } from "../dns/dns-server.ts"
import { postMail } from "../email/mail-world.ts"
import { openSmtpServer } from "../email/smtp-server.ts"
import { openFakeInternet } from "../support/fake-internet.ts"
import { makeCompany } from "../support/world.ts"
import { readZoneFile } from "../support/zone-file-reader.ts"
import { DOMAIN_PATH, SENDING_DOMAINS_PATH, ownDomainWorld, postDomain } from "./domain-world.ts"

const NAME = "acme.com"
const FORMER = "ns1.former-host.example"
const absent = missingDnsProgramReason("named-checkzone", "-v")

const AT_FORMER = [
  zoneRecord("A", NAME, "192.0.2.10"),
  zoneRecord("AAAA", NAME, "2001:db8::10"),
  zoneRecord("CNAME", `www.${NAME}`, NAME),
  zoneRecord("MX", NAME, "mx.mail-host.example", 10),
  zoneRecord("TXT", NAME, `v=spf1 include:mail-host.example ~all ${"x".repeat(300)}; "ü" \\`),
]

// Registrars are looked up over the web, outside of this machine; the registrar stays unknown.
vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("no web here"))
const internet = await openFakeInternet()
afterAll(() => internet.close())
const mailServer = await openSmtpServer()
afterAll(() => mailServer.close())
const settings = { DNS_RESOLVER: internet.address, MAIL_URL: mailServer.url }
const world = await ownDomainWorld({ settings })
const nameServer = await nameServerDaemon.start(world.ports)
afterAll(() => nameServer.stop())
internet.delegate(NAME, [FORMER])
internet.serveNameServer(FORMER, zoneWith(NAME, AT_FORMER))
internet.serveNameServer("ns.localhost", ourAddress())
const company = await makeCompany(world)

function ourAddress(): string {
  const { address } = nameServer.listeningAddress ?? {}
  if (address === undefined) throw new Error("the name server does not listen")
  return address
}

async function keyRecord(name: string): Promise<string[][]> {
  const resolver = openResolver({ servers: ourAddress(), pacer: machinePacer })
  const { answers } = await resolver.query(name, "TXT")
  return answers.map(({ content }) => [content])
}

interface PlainRecord {
  readonly type: string
  readonly name: string
  readonly content: string
  readonly priority: number | null
}

/** Records of the API without their ids. */
const plainRecords = (rows: readonly PlainRecord[]): readonly PlainRecord[] =>
  rows.map(({ type, name, content, priority }) => ({ type, name, content, priority }))

/** The records of an exported zone file, without SOA and NS records. */
const recordsOfFile = (file: string) =>
  readZoneFile(file).flatMap(({ type, name, values }): readonly PlainRecord[] => {
    if (type === "SOA" || type === "NS") return []
    const withoutDot = (word = "") => word.replace(/\.$/, "")
    const [first = "", second] = values
    if (type === "MX") return [{ type, name, content: withoutDot(second), priority: Number(first) }]
    const text = Buffer.from(values.join(""), "latin1").toString()
    return [{ type, name, content: type === "TXT" ? text : withoutDot(first), priority: null }]
  })

const detail = async () => (await world.call(company.key, "GET", DOMAIN_PATH)).body
const checked = async () => {
  const { body } = await postDomain(world, company, { check: true })
  await world.operate("wait")
  return body
}

describe("a domain that moves here", () => {
  it("is copied, and waits while the registry names the former host or only one of our name servers", async () => {
    const { status, body } = await postDomain(world, company, { domain: NAME })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: "waiting", replaces: [FORMER], registrar: null },
    })
    const order = (a: object, b: object) => JSON.stringify(a).localeCompare(JSON.stringify(b))
    expect(plainRecords(body.records).toSorted(order)).toEqual(
      AT_FORMER.map(({ ttl: _ttl, ...one }) => one).toSorted(order),
    )
    await world.operate("wait")
    // Our name server already serves the zone, so a query to it would wrongly show that the domain points here.
    expect(await keyRecord(NAME)).toHaveLength(1)
    expect(await checked()).toEqual({ status: "waiting", seen: [FORMER], pointed: false })
    const [ours = ""] = body.nameServers
    internet.delegate(NAME, [FORMER, ours])
    expect(await checked()).toMatchObject({ status: "waiting", pointed: false })
  })

  it("is live once the registry names ours, and its mail is signed with the key that our name server publishes", async () => {
    internet.delegate(NAME, (await detail()).nameServers)
    expect(await checked()).toMatchObject({ status: "live", pointed: true })
    const { email } = await detail()
    expect(email).toMatchObject({ domain: NAME, status: "pending" })
    const check = { action: "check", id: email.id }
    const verified = await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: check })
    expect(verified).toMatchObject({ status: 200, body: { status: "verified" } })

    const sent = await postMail(world, { key: company.key, domain: NAME })
    expect(sent).toMatchObject({ status: 200, body: { queued: ["ada@example.com"] } })
    const [mail, ...others] = mailServer.arrived
    expect(others).toEqual([])
    expect(mail?.from.endsWith(`@cp-bounce.${NAME}`)).toBe(true)
    const queriedNames: string[] = []
    const { results } = await dkimVerify(mail?.bytes ?? Buffer.alloc(0), {
      resolver: async (name: string) => {
        queriedNames.push(name)
        return keyRecord(name)
      },
    })
    expect(queriedNames).toEqual([`cp1._domainkey.${NAME}`])
    expect(results.map(({ status, signingDomain }) => [status.result, signingDomain])).toEqual([
      ["pass", NAME],
    ])
  })

  it("is exported as a zone file with the same records", async () => {
    const { body } = await postDomain(world, company, { action: "export_records" })
    expect(recordsOfFile(body.file)).toEqual(plainRecords((await detail()).records))
  })

  it("is exported as a zone file that BIND loads", async (ctx) => {
    ctx.skip(absent !== null, absent ?? "")
    const { body } = await postDomain(world, company, { action: "export_records" })
    const folder = await mkdtemp(join(tmpdir(), "zone-"))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, "exported.zone")
    await writeFile(file, body.file)
    const done = spawnSync("named-checkzone", ["-i", "local", NAME, file], { encoding: "utf8" })
    expect([done.status, done.stdout]).toEqual([0, expect.stringContaining("OK")])
  })

  it("is moved once the registry names others, and stops sending days later", async () => {
    internet.delegate(NAME, [FORMER])
    await world.operate("clock advance", { duration: "25h" })
    expect(await detail()).toMatchObject({ status: "moved" })
    expect((await detail()).email.status).toBe("verified")
    await world.operate("clock advance", { duration: "4d" })
    expect((await detail()).email.status).toBe("failed")
    const sent = await postMail(world, { key: company.key, domain: NAME })
    expect(sent).toMatchObject({ status: 400, body: { error: "not_sent" } })
    expect(mailServer.arrived).toHaveLength(1)
  })
})
