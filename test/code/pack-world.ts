/** A company with one commit, and packs that a machine of somebody's sends to it. */
import type { CompanyCode } from "../../src/code/company-code.ts"
import { isDeepStrictEqual } from "node:util"
import { expect } from "vitest"
import { findKey, findPerson } from "../../domain/access/access.ts"
import type { Access } from "../../domain/access/access.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { Caller } from "../../src/frame/calls/route.ts"
import type { Company, World } from "../support/world.ts"
import type { CodeWorld } from "./code-world.ts"
import { codeWorld, factsOf, makeCodeCompany, quarantines } from "./code-world.ts"

/** The folder of the working copy at the desk. */
export const AT = "at"
const RULES = { operation: "sandbox.push", also: ["sandbox.read"], permissions: [] } as const

/** How a pack is sent; else as the second commit, to `main`. */
export interface SentPack {
  readonly tip?: string
  readonly branch?: string
  readonly signal?: AbortSignal
}

/** A world with code that packs are sent to. */
export interface PackWorld {
  readonly here: CodeWorld
  readonly code: CompanyCode
  /** The first commit, which every company has on its `main`; and one on top of it. */
  readonly first: string
  readonly second: string
  /** The company that packs are sent to. */
  company: Company
  /** Another company from now on, unless this one stands as it was made: to push to one takes seconds. */
  readonly renew: () => Promise<void>
  readonly git: (...args: readonly string[]) => Promise<string>
  /** A thin pack of what a commit has and another has not. */
  readonly packFrom: (base: string, tip: string) => Promise<Buffer>
  readonly take: (
    pack: Uint8Array | AsyncIterable<Uint8Array>,
    sent?: SentPack,
  ) => Promise<{ readonly pushed: boolean; readonly text: string }>
  readonly tips: () => Promise<Readonly<Record<string, string>>>
  /** What was told of the pushes behind the first. */
  readonly told: () => Promise<readonly string[]>
  /** Nothing is left of what was sent, and no branch has moved. */
  readonly expectNothing: (facts?: readonly string[]) => Promise<void>
}

/** Opens one for the calling file, at its top level; by default in the shared world. */
export async function openPackWorld(own?: World): Promise<PackWorld> {
  const here = await codeWorld(own)
  const code = here.world.ports.companyCode
  await here.desk.right(["init", "--quiet", AT])
  const long = "a long line\n".repeat(500)
  const first = await here.desk.commit(AT, "a", long)
  const second = await here.desk.commit(AT, "a", `${long}and another\n`)
  const made = async () => {
    const company = await makeCodeCompany(here.world)
    const push = ["push", "--quiet", here.addressOf(company), `${first}:refs/heads/main`]
    await here.desk.right(push, { in: AT })
    return company
  }
  let latest = await made()
  const isAsMade = async () => {
    if (world.company !== latest || (await world.told()).length > 0) return false
    const { key } = await callerOf(here.world, latest)
    return key?.status === "active" && isDeepStrictEqual(await world.tips(), { main: first })
  }
  const world: PackWorld = {
    here,
    code,
    first,
    second,
    company: latest,
    renew: async () => {
      if (await isAsMade()) return
      latest = await made()
      world.company = latest
    },
    git: (...args) => here.desk.right(args, { in: AT }),
    packFrom: (base, tip) =>
      here.desk.bytes(["pack-objects", "--revs", "--stdout", "--thin", "--quiet"], {
        in: AT,
        input: `${tip}\n^${base}\n`,
      }),
    take: async (pack, { tip = second, branch = "main", signal } = {}) => {
      const pieces = pack instanceof Uint8Array ? inPieces(pack) : pack
      const caller = await callerOf(here.world, world.company)
      const sent = { tip, branch, pack: pieces, signal: signal ?? new AbortController().signal }
      const { pushed, lines } = await code.takePack(caller, RULES, sent)
      return { pushed, text: lines.join("\n") }
    },
    tips: async () => Object.fromEntries((await code.find(world.company.companyId))?.tips ?? []),
    told: async () => (await factsOf(here.world, world.company)).slice(2),
    expectNothing: async (facts = []) => {
      expect(await world.tips()).toEqual({ main: first })
      expect(await quarantines(here.codeDir, world.company)).toEqual([])
      expect(await world.told()).toEqual(facts)
      expect(here.world.ports.packPlaces.count()).toMatchObject({ in: 0, waiting: 0 })
    },
  }
  return world
}

/** Bytes as they come. */
export async function* inPieces(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

/** The owner of a company, by the company's key. */
async function callerOf({ ports }: World, { companyId, keyId, ownerId }: Company): Promise<Caller> {
  const who = (state: Access) => ({
    key: findKey(state, keyId),
    person: findPerson(state, ownerId),
  })
  const { key, person } = await ports.runner.readLatest(accessOf(companyId), who)
  const spender = { via: "own_key", keyId, personId: ownerId } as const
  return { companyId, key, person, spender, requestId: "req_of_a_test" }
}
