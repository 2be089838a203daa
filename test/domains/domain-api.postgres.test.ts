/** `GET` and `POST` of `/api/v1/domain` and `/api/v1/email/domains`. */
import { describe, expect, it } from "vitest"
import { DOMAIN_RESERVATIONS_STREAM } from "../../domain/domains/aggregates.ts"
import { reservationCovering } from "../../domain/domains/domain-reservations.ts"
import { parseDomainId } from "../../domain/domains/domain-events.ts"
import { unchargedCallsOf, makeCompany, makeKey } from "../support/world.ts"
import {
  DOMAIN_PATH,
  newDomainName,
  makeConnectedDomain,
  ownDomainWorld,
  postDomain,
  setDnsOutcome,
  SENDING_DOMAINS_PATH,
  makeLiveDomain,
} from "./domain-world.ts"

const world = await ownDomainWorld()

describe("connecting a domain", () => {
  it("copies its records, lists the queried names, and answers a repeated call the same", async () => {
    const { company, domain, domainId, detail } = await makeConnectedDomain(world)
    expect(detail).toMatchObject({
      domain,
      status: "waiting",
      registrar: "Example Registrar",
      dnssecOn: false,
      email: null,
      appAddresses: [],
      warnings: [],
      copied: { asked: ["@", "www", "mail"], leftOut: [] },
      domains: [{ id: domainId, domain, status: "waiting" }],
    })
    expect(detail.replaces).toEqual(["ns1.former-host.example", "ns2.former-host.example"])
    expect(detail.nameServers).toHaveLength(2)
    expect(detail.records).toContainEqual(
      expect.objectContaining({ type: "MX", name: domain, priority: 10, source: "copied" }),
    )
    const again = await postDomain(world, company, { domain: domain.toUpperCase() })
    expect(again).toMatchObject({ status: 200, body: { id: domainId } })
    expect((await world.call(company.key, "GET", DOMAIN_PATH)).body).toEqual(detail)
    const other = await world.call(company.key, "GET", `${DOMAIN_PATH}?domainId=dom_none`)
    expect(other).toMatchObject({ status: 404, body: { error: "not_found" } })
  })

  it("by two companies concurrently succeeds for one of them", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    const domain = newDomainName()
    const answers = await Promise.all(
      [one, other].map((each) => postDomain(world, each, { domain })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })

  it.each([
    "co.uk",
    "github.io",
    "a/b",
    "0x7f.1",
    "127.0.0.1",
    "a..b",
    "-a.com",
    "xn--a.com",
    "www.acme.com",
    "acme",
    "ex%61mple.com",
    `${"a".repeat(64)}.com`,
    "acme.com\nevil.com",
    "so\u00ADft.com",
    "acme.com.",
  ])("is rejected for %j", async (domain) => {
    const company = await makeCompany(world)
    const answer = await postDomain(world, company, { domain })
    expect(answer).toMatchObject({ status: 400, body: { fields: { domain: expect.any(String) } } })
  })

  it("warns of lookalike letters, and of a DS record that is left at the registrar", async () => {
    const company = await makeCompany(world)
    await setDnsOutcome(world, "signed", 1)
    const { body } = await postDomain(world, company, { domain: "аcme.com" })
    expect(body).toMatchObject({ domain: "xn--cme-5cd.com", dnssecOn: true })
    expect(body.warnings).toHaveLength(2)
  })

  it("is rejected while the registrar names the name servers of another company", async () => {
    const { company, domain, domainId } = await makeConnectedDomain(world)
    const id = parseDomainId(domainId)
    if (id === null) throw new Error("no id")
    // The reservation is released, but the registrar still names the first company's name servers.
    await world.ports.runner.execute(
      DOMAIN_RESERVATIONS_STREAM,
      { type: "ReleaseDomain", domainId: id, reason: "removed" },
      { command: "test", actor: null, keyId: null, personId: null, reason: null },
    )
    const thief = await makeCompany(world)
    const answer = await postDomain(world, thief, { domain })
    expect(answer).toMatchObject({ status: 409, body: { error: "conflict" } })
    expect(
      await world.ports.runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(domain)),
    ).toBeNull()
    expect(company.companyId).not.toBe(thief.companyId)
  })

  it("reserves nothing while DNS does not answer", async () => {
    const company = await makeCompany(world)
    const domain = newDomainName()
    await setDnsOutcome(world, "unavailable", 1)
    expect(await postDomain(world, company, { domain })).toMatchObject({ status: 503 })
    expect(
      await world.ports.runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(domain)),
    ).toBeNull()
    expect(await postDomain(world, company, { domain })).toMatchObject({ status: 200 })
  })
})

describe("checking a domain", () => {
  it("queries its parent zone, not the zone that we serve", async () => {
    const { company, detail } = await makeConnectedDomain(world)
    const seen = []
    for (const outcome of ["elsewhere", "half", "live", "elsewhere"]) {
      await setDnsOutcome(world, outcome, 1)
      const { body } = await postDomain(world, company, { check: true })
      seen.push([body.status, body.pointed])
    }
    expect(seen).toEqual([
      ["waiting", false],
      ["waiting", false],
      ["live", true],
      ["moved", false],
    ])
    const { body } = await world.call(company.key, "GET", DOMAIN_PATH)
    expect(body).toMatchObject({ status: "moved", nameServers: detail.nameServers })
  })

  it("sets up its email once it is live, if the key may add a sending domain", async () => {
    const { company, domain } = await makeConnectedDomain(world)
    const { key } = await makeKey(world, company, { operations: ["dns.check", "dns.read"] })
    const unchanged = await world.call(key, "POST", DOMAIN_PATH, { body: { check: true } })
    expect(unchanged).toMatchObject({ status: 200, body: { status: "live", pointed: true } })
    expect((await world.call(key, "GET", DOMAIN_PATH)).body.email).toBeNull()
    await postDomain(world, company, { check: true })
    const { body } = await world.call(company.key, "GET", DOMAIN_PATH)
    expect(body.email).toMatchObject({ domain, status: "pending", parentStatus: "live" })
    const emailRecords = body.records.filter(({ source }: { source: string }) => source === "email")
    expect(
      emailRecords.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`),
    ).toEqual([
      `TXT cp1._domainkey.${domain}`,
      `MX cp-bounce.${domain}`,
      `TXT cp-bounce.${domain}`,
      `TXT _dmarc.${domain}`,
    ])
  })
})

describe("records", () => {
  const add = (company: { readonly key: string }, record: object) =>
    postDomain(world, company, { action: "add_record", record })

  it("are added, changed, removed and exported", async () => {
    const { company, domain } = await makeConnectedDomain(world)
    const record = { type: "TXT", name: "@", content: 'v="1"; ü' }
    const added = await add(company, record)
    expect(added).toMatchObject({ status: 200, body: { ok: true } })
    const { id } = added.body.records.at(-1)
    expect(await add(company, record)).toMatchObject({ status: 409 })
    const changed = await postDomain(world, company, {
      action: "update_record",
      id,
      record: { ...record, name: "v" },
    })
    expect(changed.body.records).toContainEqual(
      expect.objectContaining({ id, name: `v.${domain}`, source: "added" }),
    )
    const { body } = await postDomain(world, company, { action: "export_records" })
    expect(body.domain).toBe(domain)
    expect(body.file).toContain(`v.${domain}. 300 IN TXT "v=\\"1\\"; \\195\\188"`)
    const removed = await postDomain(world, company, { action: "remove_record", id })
    expect(removed.body.records).not.toContainEqual(expect.objectContaining({ id }))
    expect(await postDomain(world, company, { action: "remove_record", id })).toMatchObject({
      status: 404,
    })
  })

  it("that are invalid are rejected with the field; a CNAME next to others is rejected as a whole", async () => {
    const { company } = await makeConnectedDomain(world)
    const faults = [
      [{ type: "A", name: "x", content: "127.1" }, "record.content"],
      [{ type: "A", name: "a\nb", content: "192.0.2.1" }, "record.name"],
      [{ type: "MX", name: "x", content: "mx.test.com" }, "record.priority"],
      [{ type: "CNAME", name: "@", content: "host.test.com" }, "record"],
      [{ type: "A", name: "www", content: "192.0.2.1" }, "record"],
    ] as const
    for (const [record, field] of faults) {
      const { status, body } = await add(company, record)
      expect([status, Object.keys(body.fields ?? {})]).toEqual([400, [field]])
    }
  })

  it("that are added by twenty concurrent calls have at most one CNAME", async () => {
    const { company, domain } = await makeConnectedDomain(world)
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        add(
          company,
          n % 2 === 0
            ? { type: "CNAME", name: "race", content: `h${n}.test.com` }
            : { type: "A", name: "race", content: `192.0.2.${n}` },
        ),
      ),
    )
    const { body } = await world.call(company.key, "GET", DOMAIN_PATH)
    const raced = body.records.filter(({ name }: { name: string }) => name === `race.${domain}`)
    const types = new Set(raced.map(({ type }: { type: string }) => type))
    expect(types.size).toBe(1)
    if (types.has("CNAME")) expect(raced).toHaveLength(1)
  })
})

describe("the body of a domain call", () => {
  it.each([
    {},
    { check: false },
    { domain: 7 },
    { action: "forget" },
    { domain: "a.com", check: true },
    { check: true, action: "x" },
    { domain: "a.com", action: "add_record", record: {} },
  ])(
    "is rejected with 400, and the call is counted, if it has no action or two: %j",
    async (body) => {
      const company = await makeCompany(world)
      expect(await postDomain(world, company, body)).toMatchObject({ status: 400 })
      expect(await unchargedCallsOf(world, company)).toBe(1)
    },
  )

  it("is validated after the operation, and after the payment of an operation that needs it", async () => {
    const { company, domainId } = await makeConnectedDomain(world)
    const { key } = await makeKey(world, company, { operations: ["hosting.appAddress.write"] })
    const save = { action: "save_app_address", domainId, hostname: "not under it" }
    const lacking = await world.call(key, "POST", DOMAIN_PATH, { body: save })
    expect(lacking).toMatchObject({ status: 403, body: { operation: "dns.records.write" } })
    await world.operate("card remove", { company: company.companyId })
    const unpaid = await postDomain(world, company, save)
    expect(unpaid).toMatchObject({ status: 402, body: { error: "needs_managed_plan" } })
    expect(await postDomain(world, company, { action: "export_records" })).toMatchObject({
      status: 200,
    })
  })
})

describe("app addresses", () => {
  it("wait for the domain, and are returned unchanged when saved again", async () => {
    const { company, domain, domainId } = await makeConnectedDomain(world)
    const save = { action: "save_app_address", domainId, hostname: `app.${domain}` }
    const { status, body } = await postDomain(world, company, save)
    expect({ status, body }).toMatchObject({ status: 200, body: { status: "waiting_dns" } })
    await postDomain(world, company, { check: true })
    expect((await postDomain(world, company, save)).body).toMatchObject({
      id: body.id,
      status: "waiting_certificate",
      error: null,
    })
    const evil = await postDomain(world, company, { ...save, hostname: `evil${domain}` })
    expect(evil).toMatchObject({ status: 400, body: { fields: { hostname: expect.any(String) } } })
  })
})

describe("sending domains", () => {
  it("are verified by a check once DNS has their records", async () => {
    const { company, domain, domainId } = await makeLiveDomain(world)
    const add = { action: "add", domainId, domain: `mail.${domain}` }
    const { body } = await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: add })
    expect(body).toMatchObject({ domain: `mail.${domain}`, status: "pending" })
    const check = { action: "check", id: body.id }
    await setDnsOutcome(world, "elsewhere", 5)
    const early = await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: check })
    expect(early).toMatchObject({ status: 200, body: { status: "pending" } })
    await setDnsOutcome(world, "ok")
    await world.operate("wait")
    const checked = await world.call(company.key, "POST", SENDING_DOMAINS_PATH, { body: check })
    expect(checked).toMatchObject({ status: 200, body: { status: "verified" } })
    const listed = await world.call(company.key, "GET", SENDING_DOMAINS_PATH)
    expect(listed.body.senders).toEqual([])
    expect(listed.body.domains).toContainEqual(
      expect.objectContaining({
        id: body.id,
        domainId,
        domain: `mail.${domain}`,
        status: "verified",
        error: null,
        parentDomain: domain,
        parentStatus: "live",
      }),
    )
  })

  it("must be a connected domain of the company or a name under it", async () => {
    const { company, domain, domainId } = await makeLiveDomain(world)
    const add = (name: string, key = company.key) =>
      world.call(key, "POST", SENDING_DOMAINS_PATH, {
        body: { action: "add", domainId, domain: name },
      })
    expect(await add(`evil${domain}`)).toMatchObject({ status: 400 })
    const other = await makeCompany(world)
    expect(await add(domain, other.key)).toMatchObject({ status: 404 })
    // The names of its records and its return path are longer than the domain itself.
    const under = (length: number) => {
      const labels = `${"b".repeat(50)}.`.repeat(4)
      return `${labels.slice(0, length - domain.length - 1)}.${domain}`.replace("..", ".b")
    }
    expect(await add(under(201))).toMatchObject({
      status: 400,
      body: { fields: { domain: expect.stringContaining("200") } },
    })
    const longest = await add(under(200))
    expect(longest).toMatchObject({ status: 200, body: { domain: under(200) } })
  })
})
