/** A company with one commit, and packs that a box sends to it. */
import { isDeepStrictEqual } from "node:util"
import { expect } from "vitest"
import { findKey, findPerson } from "../../domain/access/access.ts"
import type { AccessState } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { Caller } from "../../src/frame/routes/declare/route.ts"
import type { Company, World } from "../support/world.ts"
import { codeWorld, laterCodeFactTypes, makeCodeCompany, quarantineFolders } from "./code-world.ts"

/** The folder of the working copy in the workspace. */
export const COPY_FOLDER = "copy"
const RULES = {
  operation: "sandbox.push",
  additionalOperations: ["sandbox.read"],
  permissions: [],
} as const

/** Opens a world that receives packs, by default the shared one. Call it at the top level of the file. */
export async function openPackWorld(own?: World) {
  const here = await codeWorld(own)
  const code = here.world.ports.companyCode
  await here.workspace.run(["init", "--quiet", COPY_FOLDER])
  const long = "a long line\n".repeat(500)
  /** The first commit, which is on every company's `main`, and its child. */
  const first = await here.workspace.commit(COPY_FOLDER, "a", long)
  const second = await here.workspace.commit(COPY_FOLDER, "a", `${long}and another\n`)
  const makeTestCompany = async () => {
    const company = await makeCodeCompany(here.world)
    const push = ["push", "--quiet", here.addressOf(company), `${first}:refs/heads/main`]
    await here.workspace.run(push, { folder: COPY_FOLDER })
    return company
  }
  let latest = await makeTestCompany()
  const target = { company: latest }
  const tips = async () =>
    Object.fromEntries((await code.find(target.company.companyId))?.tips ?? [])
  /** The types of the facts after the first push. */
  const laterFacts = async () => (await laterCodeFactTypes(here.world, target.company)).slice(2)
  const isUnchanged = async () => {
    if (target.company !== latest || (await laterFacts()).length > 0) return false
    const { key } = await callerOf(here.world, latest)
    return key?.status === "active" && isDeepStrictEqual(await tips(), { main: first })
  }
  return Object.assign(target, {
    here,
    code,
    first,
    second,
    tips,
    laterFacts,
    /** Replaces the company, unless it is unchanged: its first push takes seconds. */
    renew: async () => {
      if (await isUnchanged()) return
      latest = await makeTestCompany()
      target.company = latest
    },
    git: (...args: readonly string[]) => here.workspace.run(args, { folder: COPY_FOLDER }),
    /** A thin pack of the objects that `tip` has and `base` does not. */
    packFrom: (base: string, tip: string) =>
      here.workspace.bytes(["pack-objects", "--revs", "--stdout", "--thin", "--quiet"], {
        folder: COPY_FOLDER,
        input: `${tip}\n^${base}\n`,
      }),
    /** Sends a pack, by default as the second commit to `main`. */
    receive: async (
      pack: Uint8Array | AsyncIterable<Uint8Array>,
      { tip = second, branch = "main", signal = new AbortController().signal } = {},
    ) => {
      const pieces = pack instanceof Uint8Array ? asByteStream(pack) : pack
      const caller = await callerOf(here.world, target.company)
      const { pushed, lines } = await code.receivePack(caller, RULES, {
        tip,
        branch,
        pack: pieces,
        signal,
      })
      return { pushed, text: lines.join("\n") }
    },
    /** Expects that nothing is left of a pack, and that no branch has moved. */
    expectNothing: async (facts: readonly string[] = []) => {
      expect(await tips()).toEqual({ main: first })
      expect(await quarantineFolders(here.codeDir, target.company)).toEqual([])
      expect(await laterFacts()).toEqual(facts)
      expect(here.world.ports.packSlots.count()).toMatchObject({ in: 0, waiting: 0 })
    },
  })
}

/** A stream of these chunks. */
export async function* asByteStream(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

async function callerOf({ ports }: World, { companyId, keyId, ownerId }: Company): Promise<Caller> {
  const select = (state: AccessState) => ({
    key: findKey(state, keyId),
    person: findPerson(state, ownerId),
  })
  const { key, person } = await ports.runner.readLatest(accessStreamOf(companyId), select)
  const spender = { via: "own_key", keyId, personId: ownerId } as const
  return { companyId, key, person, spender, requestId: "req_of_a_test" }
}
