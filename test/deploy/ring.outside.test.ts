/** The ring that the benchmark simulates is the one of nginx, as `deploy/nginx` has it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { ownerOf, placeOf, ringOf } from "../../bench/scale/ring.ts"
import type { Nginx } from "../support/debian.ts"
import { nginxHere, startNginx, freePort } from "../support/debian.ts"
import { ROOT } from "../tidy/tree.ts"

const nginx = nginxHere()
const folder = mkdtempSync(join(tmpdir(), "ledger-ring-"))
const UPSTREAM = readFileSync(join(ROOT, "deploy/nginx/ledger-upstream.conf"), "utf8")
const TAGS = Array.from({ length: 60 }, (_, i) => `tag${String(i * 7919).padStart(3, "0")}`)
const addresses: string[] = []
let front: Nginx

/** The shipped upstream with these processes, of which one may be gone. */
const httpOf = (own: string, gone?: string): string => {
  const servers = addresses.map((one) => `server ${one} max_fails=1 fail_timeout=5s;`).join("\n")
  return [
    UPSTREAM.replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, `${servers}\n`),
    ...addresses
      .filter((one) => one !== gone)
      .map((one) => `server { listen ${one}; return 200; }`),
    `server { listen ${own}; location / {`,
    "proxy_pass http://company_ledger; add_header x-served-by $upstream_addr always; } }",
  ].join("\n")
}

/** The processes that nginx tried for a company, in order. */
async function triedFor(tag: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer cpk_${tag}_rest` }
  const { headers: answered } = await fetch(front.url, { headers })
  return answered.get("x-served-by")?.split(", ") ?? []
}

const expected = (tag: string, down?: number) =>
  addresses[ownerOf(ringOf(addresses), placeOf(tag), down)]

describe("the ring of the simulation", () => {
  beforeEach((ctx) => ctx.skip("missing" in nginx, "missing" in nginx ? nginx.missing : ""))
  beforeAll(async () => {
    if ("missing" in nginx) return
    while (addresses.length < 4) addresses.push(`127.0.0.1:${await freePort()}`)
    front = await startNginx(nginx.program, folder, (own) => httpOf(own))
  })
  afterAll(async () => {
    if (!("missing" in nginx)) await front.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it("has each company at the process that nginx sends it to", async () => {
    const owners = new Set<string>()
    for (const tag of TAGS) {
      const tried = await triedFor(tag)
      expect(tried, tag).toEqual([expected(tag)])
      owners.add(tried[0] as string)
    }
    expect(owners.size).toBe(4)
  })

  it("has the companies of a process that is gone where nginx sends them then", async () => {
    if ("missing" in nginx) return
    // Started anew: behind a reload the former one still answers for a moment.
    await front.stop()
    front = await startNginx(nginx.program, folder, (own) => httpOf(own, addresses[0]))
    for (const tag of TAGS) expect((await triedFor(tag)).at(-1), tag).toBe(expected(tag, 0))
  })
})
