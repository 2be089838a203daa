/** Addresses of previews: each company has a unique one that any browser can open. */
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyIdFromTag } from "../../domain/kernel/ids.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import {
  previewSiteOf,
  findCompanyByLabel,
  companyFromLabelTag,
  hostLabelOf,
} from "../../src/publishing/preview-site.ts"
import { publishingSettings } from "../../src/publishing/settings.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const TAG_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".split("")
const companyId = fc
  .array(fc.constantFrom(...TAG_LETTERS), { minLength: 6, maxLength: 6 })
  .map((letters) => companyIdFromTag(letters.join("")))
const name = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ unit: fc.constantFrom(..."aZ09-. xn\u00e9\u0130\u212a".split("")), maxLength: 80 }),
  fc.stringMatching(/^[a-z]{1,5}-[a-z2-7]{8}$/),
)

describe("the label of a company", () => {
  it.for([
    ["acme", "acme"],
    [" Acme ", "acme"],
    ["a", "a"],
    ["42", "42"],
    ["acme-inc", "acme-inc"],
    ["Acme Inc.", "acme-inc-aaaaaaaa"],
    ["Caf\u00e9 M\u00fcller", "cafe-muller-aaaaaaaa"],
    ["-acme-", "acme-aaaaaaaa"],
    ["xn--acme", "xn-acme-aaaaaaaa"],
    ["acme-software", "acme-software-aaaaaaaa"],
    ["\u6771\u4eac", "company-aaaaaaaa"],
    ["a".repeat(40), "a".repeat(40)],
    ["a".repeat(41), `${"a".repeat(40)}-aaaaaaaa`],
  ])("%j is %s", ([given, label]) => {
    expect(hostLabelOf(given ?? "", "co_000000")).toBe(label)
  })

  it("is a valid host label, and leads back only to its company", () => {
    fc.assert(
      fc.property(name, companyId, companyId, (given, one, other) => {
        const label = hostLabelOf(given, one)
        expect(label).toMatch(LABEL)
        const url = `http://${label}.preview.localhost/`
        expect(new URL(url).href).toBe(url)
        const tagged = companyFromLabelTag(label)
        const plain = given.trim().toLowerCase()
        // The label is the unique name itself, or ends in the company's tag.
        expect(tagged === null ? label : tagged).toBe(tagged === null ? plain : one)
        if (tagged !== null && one !== other) expect(hostLabelOf(given, other)).not.toBe(label)
      }),
      { numRuns: 2_000 },
    )
  })

  it("leads to no company if its tag is invalid", () => {
    expect(companyFromLabelTag("x-77777777")).toBeNull()
    expect(companyFromLabelTag("acme")).toBeNull()
    expect(companyFromLabelTag("-aaaaaaa1")).toBeNull()
  })
})

describe("an address", () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld("store")
  })
  afterAll(() => world.close())

  const createCompany = async (given: string) =>
    (await makeCompany(world, { name: given })).companyId

  it("is found by the name in any case, and by no other name", async () => {
    const [acme, inc] = [await createCompany("AcMe"), await createCompany("Acme Inc.")]
    expect(await previewSiteOf(world.ports, acme)).toEqual({
      host: "acme.preview.localhost",
      url: "http://acme.preview.localhost/",
    })
    expect(await findCompanyByLabel(world.ports, "acme")).toBe(acme)
    const { host } = await previewSiteOf(world.ports, inc)
    expect(host).toMatch(/^acme-inc-[a-z2-7]{8}\.preview\.localhost$/)
    expect(await findCompanyByLabel(world.ports, host.split(".", 1)[0] ?? "")).toBe(inc)
    for (const label of ["acme-inc", "acm", "", "acme inc.", "acme-inc-aaaaaaaa", "x-77777777"]) {
      expect([label, await findCompanyByLabel(world.ports, label)]).toEqual([label, null])
    }
  })

  it("has the port of the service", async () => {
    const acme = await findCompanyByLabel(world.ports, "acme")
    const ports = { ...world.ports, baseUrl: () => "https://ledger.test:8443" }
    expect(await previewSiteOf(ports, acme as CompanyId)).toEqual({
      host: "acme.preview.localhost:8443",
      url: "https://acme.preview.localhost:8443/",
    })
  })
})

describe("PREVIEW_DOMAIN", () => {
  const faults = (given: Record<string, string>) => publishingSettings.faults?.(given) ?? []

  it("must differ from the service's host name and the boxes' domain", () => {
    const base = "https://api.example.com"
    for (const domain of ["api.example.com", "example.com"]) {
      const found = faults({ PREVIEW_DOMAIN: domain, BASE_URL: base })
      expect([domain, found]).toEqual([domain, [expect.stringContaining("BASE_URL")]])
    }
    expect(faults({ PREVIEW_DOMAIN: "preview.example.com", BASE_URL: base })).toEqual([])
    expect(
      faults({ PREVIEW_DOMAIN: "preview.localhost", BASE_URL: "http://localhost:3000" }),
    ).toEqual([])
    for (const domain of ["box.localhost", "a.box.localhost"]) {
      expect(faults({ PREVIEW_DOMAIN: domain })).toEqual([expect.stringContaining("BOX_DOMAIN")])
    }
    expect(faults({ BOX_DOMAIN: "preview.localhost" })).toHaveLength(1)
  })

  it("must be a lowercase domain", () => {
    const { schema } = publishingSettings
    expect(schema.parse({})).toEqual({ PREVIEW_DOMAIN: "preview.localhost" })
    for (const PREVIEW_DOMAIN of [
      "localhost",
      "Preview.example.com",
      "a..b",
      "http://a.b",
      "127.0.0.1",
    ]) {
      expect(schema.safeParse({ PREVIEW_DOMAIN }).success).toBe(false)
    }
    expect(readConfig({}).settings(publishingSettings).PREVIEW_DOMAIN).toBe("preview.localhost")
  })
})
