/** No address that a stranger writes leads to a machine that is not public: a canary counts connections. */
import fc from "fast-check"
import { afterEach, describe, expect, it } from "vitest"
import { isPublicAddress } from "../../adapters/providers/addresses/public-addresses.ts"
import { openPublicSites } from "../../adapters/providers/sites/public-sites.ts"
import type { SiteHandler, SiteServer } from "./site-server.ts"
import { PUBLIC_ADDRESS, ManualTime, openSiteServer } from "./site-server.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const problem = (code: string) => ({ kind: "problem", code })
const BLOCKED = problem("blocked_address")
const CERTIFIED = ["a", "b", "c", "www", "acme", "rebinds"].map((name) => `${name}.example`)
const PAGE = { kind: "page", html: "<p>canary" }

/** A canary that answers every request, and a reader whose connections all lead to it. */
async function withCanary(
  names: Readonly<Record<string, readonly string[]>>,
  answer?: SiteHandler,
) {
  const page: SiteHandler = (_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<p>canary")
  const canary: SiteServer = await openSiteServer(answer ?? page, CERTIFIED)
  closing.push(canary.close)
  const lookups: string[] = []
  const ownHosts = new Set(["ledger.acme.example", "198.41.0.4", "2a00::4"])
  const { read } = openPublicSites({
    pacer: new ManualTime().pacer,
    connect: canary.connect,
    isOwn: (host) => ownHosts.has(host),
    resolve: async (host) => {
      lookups.push(host)
      return names[host] ?? []
    },
  })
  return { canary, lookups, read }
}

/** Addresses that are not public (reliability.md, 13; IANA's registries of special-purpose addresses). */
const NOT_PUBLIC = [
  "127.0.0.1",
  "127.255.255.254",
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.1.1.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::ffff:93.184.215.14",
  "::ffff:0:127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::a00:1",
  "2002:7f00:1::1",
  "2002:a00:1::",
  "2001:0:7f00:1::1",
  "2001:db8::1",
  "2001:2::1",
  "2001:10::1",
  "3fff::1",
  "100::1",
  "fe80::1",
  "fec0::1",
  "fc00::1",
  "fd12:3456::1",
  "ff02::1",
  "4000::1",
  "5f00::1",
  "2600::5efe:7f00:1",
  "2600::200:5efe:a00:1",
  "fe80::1%eth0",
  "2600::1%1",
  "127.1",
  "2130706433",
  "0x7f.1",
  "0177.0.0.1",
  "127.0.0.1.",
  "",
  "example.com",
]

describe("an address", () => {
  it.each(NOT_PUBLIC)("that is not public is blocked: %s", async (address) => {
    expect(isPublicAddress(address)).toBe(false)
    const { canary, read } = await withCanary({
      "a.example": [address],
      "b.example": [PUBLIC_ADDRESS, address],
      "c.example": [address, PUBLIC_ADDRESS],
    })
    for (const name of ["a", "b", "c"]) {
      expect(await read(`https://${name}.example/`)).toEqual(BLOCKED)
    }
    expect(canary.destinations).toEqual([])
  })

  it.each([PUBLIC_ADDRESS, "8.8.8.8", "2606:4700::1111", "2a00:1450:4001:82a::200e"])(
    "that is public is allowed: %s",
    async (address) => {
      expect(isPublicAddress(address)).toBe(true)
      const { canary, read } = await withCanary({ "a.example": [address] })
      expect(await read("https://a.example/")).toMatchObject(PAGE)
      expect(canary.destinations).toEqual([{ address, port: 443, servername: "a.example" }])
    },
  )

  it("of IPv4 is preferred to one of IPv6, and no other is tried", async () => {
    const { canary, read } = await withCanary({ "a.example": ["2606:4700::1111", PUBLIC_ADDRESS] })
    expect(await read("https://a.example./")).toMatchObject(PAGE)
    expect(canary.destinations.map(({ address }) => address)).toEqual([PUBLIC_ADDRESS])
  })

  it("of IPv6 that embeds a private IPv4 address is not public", () => {
    const octets = fc.tuple(fc.constantFrom(10, 127), fc.nat(255), fc.nat(255), fc.nat(255))
    const prefix = fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "2600::5efe:")
    fc.assert(
      fc.property(prefix, octets, (before, parts) => {
        expect(isPublicAddress(parts.join("."))).toBe(false)
        expect(isPublicAddress(`${before}${parts.join(".")}`)).toBe(false)
      }),
    )
  })
})

describe("a web address", () => {
  it.each([
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "017700000001",
    "0177.0.0.1",
    "0",
    "0x0",
    "169.254.169.254",
    "2852039166",
    "10.1",
    "192.168.257",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fd00::1]",
    "localhost",
    "localhost.",
    "ledger",
    "LOCALHOST",
    "１２７.0.0.1",
    "127。0。0。1",
    "①②⑦.1",
  ])("is blocked without a name lookup: %s", async (host) => {
    const { canary, lookups, read } = await withCanary({
      localhost: [PUBLIC_ADDRESS],
      ledger: [PUBLIC_ADDRESS],
    })
    expect(await read(`https://${host}/`)).toEqual(BLOCKED)
    expect([canary.destinations, lookups]).toEqual([[], []])
  })

  it.each<[string, string]>([
    ["http://acme.example/", "not_https"],
    ["ftp://acme.example/", "not_https"],
    ["file:///etc/passwd", "not_https"],
    ["gopher://acme.example/", "not_https"],
    ["javascript:alert(1)", "not_https"],
    ["data:text/html,<p>", "not_https"],
    ["https://acme.example:22/", "blocked_address"],
    ["https://acme.example:80/", "blocked_address"],
    ["https://a:b@acme.example/", "blocked_address"],
    ["https://acme.example@127.0.0.1/", "blocked_address"],
    ["https://127.0.0.1\\@acme.example/", "blocked_address"],
    ["https://127.0.0.1#@acme.example/", "blocked_address"],
    ["https://[fe80::1%25eth0]/", "unreachable"],
    ["https://127.0.0.256/", "unreachable"],
    ["acme.example", "unreachable"],
    ["", "unreachable"],
  ])("is rejected before any lookup or connection: %s is %s", async (url, code) => {
    const { canary, lookups, read } = await withCanary({ "acme.example": [PUBLIC_ADDRESS] })
    expect(await read(url)).toEqual(problem(code))
    expect([canary.destinations, lookups]).toEqual([[], []])
  })

  it("may have the default port, any letter case or a public IP address", async () => {
    const { canary, read } = await withCanary({ "acme.example": [PUBLIC_ADDRESS] })
    expect(await read("HTTPS://ACME.example:443/")).toMatchObject(PAGE)
    // The certificate must then be for the IP address; the canary's is for 127.0.0.1, where it listens.
    expect(await read(`https://${PUBLIC_ADDRESS}/`)).toMatchObject(PAGE)
    expect(canary.destinations.map(({ servername }) => servername)).toEqual(["acme.example", ""])
  })

  it("is blocked if it leads to this installation, by name or by address", async () => {
    const { canary, read } = await withCanary({
      "ledger.acme.example": [PUBLIC_ADDRESS],
      "a.example": ["198.41.0.4"],
      "b.example": [PUBLIC_ADDRESS, "2A00:0::4"],
    })
    const urls = ["ledger.acme.example", "LEDGER.acme.example.", "a.example", "b.example"]
    for (const host of [...urls, "198.41.0.4", "[2a00::4]"]) {
      expect(await read(`https://${host}/`)).toEqual(BLOCKED)
    }
    expect(canary.destinations).toEqual([])
  })

  it("is unreachable if its name has no address", async () => {
    expect(await (await withCanary({})).read("https://acme.example/")).toEqual(
      problem("unreachable"),
    )
  })
})

describe("a name", () => {
  it("is looked up once, and the connection goes to the address that was checked", async () => {
    const answers = [[PUBLIC_ADDRESS], ["127.0.0.1"]]
    const { canary } = await withCanary({})
    const { read } = openPublicSites({
      pacer: new ManualTime().pacer,
      connect: canary.connect,
      isOwn: () => false,
      resolve: async () => answers.shift() ?? [],
    })
    expect(await read("https://rebinds.example/")).toMatchObject(PAGE)
    expect(canary.destinations.map(({ address }) => address)).toEqual([PUBLIC_ADDRESS])
    expect(await read("https://rebinds.example/")).toEqual(BLOCKED)
    expect(canary.destinations).toHaveLength(1)
  })
})

describe("a redirect", () => {
  const NAMES = {
    "acme.example": [PUBLIC_ADDRESS],
    "www.example": [PUBLIC_ADDRESS],
    "inner.example": ["10.0.0.1"],
    "ledger.acme.example": [PUBLIC_ADDRESS],
  }
  const redirectTo = (to: string): SiteHandler => {
    return (request, response) => {
      const isThere = request.url === "/there"
      const head = isThere ? { "content-type": "text/html" } : { location: to }
      response.writeHead(isThere ? 200 : 302, head).end("<p>canary")
    }
  }

  it.each<[string, string]>([
    ["https://127.0.0.1/", "blocked_address"],
    ["https://[::ffff:127.0.0.1]/", "blocked_address"],
    ["//2130706433/", "blocked_address"],
    ["https://inner.example/", "blocked_address"],
    ["https://ledger.acme.example/", "blocked_address"],
    ["https://acme.example:8443/", "blocked_address"],
    ["https://a:b@acme.example/", "blocked_address"],
    ["http://acme.example/", "not_https"],
    ["file:///etc/passwd", "not_https"],
    ["https://nowhere.example/", "unreachable"],
    ["https://:443", "unreachable"],
    ["/for/ever", "unreachable"],
  ])("to %s is %s", async (to, code) => {
    const { canary, read } = await withCanary(NAMES, redirectTo(to))
    expect(await read("https://acme.example/")).toEqual(problem(code))
    expect(canary.destinations.every(({ servername }) => servername === "acme.example")).toBe(true)
    expect(canary.requests.length).toBe(to === "/for/ever" ? 4 : 1)
  })

  it.each(["/there", "https://www.example/there", "//www.example/there?"])(
    "to %s is followed",
    async (to) => {
      const { read } = await withCanary(NAMES, redirectTo(to))
      const { href: url } = new URL(to, "https://acme.example/")
      expect(await read("https://acme.example/")).toMatchObject({ ...PAGE, url })
    },
  )

  it("is followed three times, and each time the name is looked up again", async () => {
    const { lookups, read } = await withCanary(NAMES, (request, response) => {
      const at = Number(request.url?.slice(1))
      const head = at === 0 ? { "content-type": "text/html" } : { location: `/${at - 1}` }
      response.writeHead(at === 0 ? 200 : 308, head).end("<p>canary")
    })
    expect(await read("https://acme.example/3")).toMatchObject(PAGE)
    expect(lookups).toHaveLength(4)
    expect(await read("https://acme.example/4")).toEqual(problem("unreachable"))
  })
})
