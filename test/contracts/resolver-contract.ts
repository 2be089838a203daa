/** What every resolver does, whatever world it looks at. */
import { describe, expect, it } from "vitest"
import type { Resolver } from "../../adapters/providers/dns/port.ts"

/** A world in which two domains are registered. */
export interface ResolverWorld {
  readonly resolver: Resolver
  /** Served by a former host: an A at the apex, and a CNAME `www` to it. */
  readonly former: string
  /** Pointed to these name servers of ours, which serve an A `192.0.2.77` at its apex. */
  readonly ours: { readonly domain: string; readonly nameServers: readonly string[] }
}

/** Describes a resolver. */
export function describeResolver(title: string, world: () => ResolverWorld): void {
  describe(`${title}, as a resolver`, () => {
    it("answers a question with what is served", async () => {
      const { resolver, ours } = world()
      const { code, answers } = await resolver.ask(ours.domain, "A")
      expect(code).toBe("NOERROR")
      expect(answers).toMatchObject([
        { type: "A", name: ours.domain, content: "192.0.2.77", priority: null },
      ])
    })

    it("follows a CNAME, and says which there was", async () => {
      const { resolver, former } = world()
      const { answers } = await resolver.ask(`www.${former}`, "A")
      expect(answers.map(({ type, name }) => `${type} ${name}`)).toEqual([
        `CNAME www.${former}`,
        `A ${former}`,
      ])
    })

    it("says that a name is not there", async () => {
      const { resolver, ours } = world()
      expect(await resolver.ask(`nothing.${ours.domain}`, "TXT")).toMatchObject({
        code: "NXDOMAIN",
        answers: [],
      })
    })

    it("says whom the zone above names, and not who answers", async () => {
      const { resolver, former, ours } = world()
      const found = await resolver.delegation(ours.domain)
      expect(found).toEqual({ nameServers: ours.nameServers, dnssecOn: false })
      const other = await resolver.delegation(former)
      expect(other?.nameServers.length).toBeGreaterThan(0)
      expect(other?.nameServers).not.toEqual(ours.nameServers)
    })

    it("copies what a former host serves, in the forms of records, once", async () => {
      const { resolver, former } = world()
      const { records } = await resolver.copy(former)
      const lines = records.map(({ type, name }) => `${type} ${name}`)
      expect(lines).toEqual(expect.arrayContaining([`A ${former}`, `CNAME www.${former}`]))
      expect(new Set(records.map((one) => JSON.stringify(one))).size).toBe(records.length)
      expect(lines.filter((line) => line.startsWith("SOA") || line === `NS ${former}`)).toEqual([])
    })
  })
}
