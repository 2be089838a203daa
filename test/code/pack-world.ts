/** A company with one commit, and packs that a machine of somebody's sends to it. */
import { isDeepStrictEqual } from "node:util"
import { expect } from "vitest"
import { findKey, findPerson } from "../../domain/access/access.ts"
import type { AccessState } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { Caller } from "../../src/frame/routes/declare/route.ts"
import type { Company, World } from "../support/world.ts"
import { codeWorld, laterCodeFactTypes, makeCodeCompany, quarantineFolders } from "./code-world.ts"

/** The folder of the working copy at the desk. */
export const COPY_FOLDER = "at"
const RULES = {
  operation: "sandbox.push",
  additionalOperations: ["sandbox.read"],
  permissions: [],
} as const

/** Opens a world with code that packs are sent to, for the calling file at its top level; by default the shared one. */
export async function openPackWorld(own?: World) {
  const here = await codeWorld(own)
  const code = here.world.ports.companyCode
  await here.desk.right(["init", "--quiet", COPY_FOLDER])
  const long = "a long line\n".repeat(500)
  /** The first commit, which every company has on its `main`; and one on top of it. */
  const first = await here.desk.commit(COPY_FOLDER, "a", long)
  const second = await here.desk.commit(COPY_FOLDER, "a", `${long}and another\n`)
  const made = async () => {
    const company = await makeCodeCompany(here.world)
    const push = ["push", "--quiet", here.addressOf(company), `${first}:refs/heads/main`]
    await here.desk.right(push, { folder: COPY_FOLDER })
    return company
  }
  let latest = await made()
  const at = { company: latest }
  const tips = async () => Object.fromEntries((await code.find(at.company.companyId))?.tips ?? [])
  /** What was told of the pushes behind the first. */
  const told = async () => (await laterCodeFactTypes(here.world, at.company)).slice(2)
  const isAsMade = async () => {
    if (at.company !== latest || (await told()).length > 0) return false
    const { key } = await callerOf(here.world, latest)
    return key?.status === "active" && isDeepStrictEqual(await tips(), { main: first })
  }
  return Object.assign(at, {
    here,
    code,
    first,
    second,
    tips,
    told,
    /** Another company from now on, unless this one stands as it was made: to push to one takes seconds. */
    renew: async () => {
      if (await isAsMade()) return
      latest = await made()
      at.company = latest
    },
    git: (...args: readonly string[]) => here.desk.right(args, { folder: COPY_FOLDER }),
    /** A thin pack of what a commit has and another has not. */
    packFrom: (base: string, tip: string) =>
      here.desk.bytes(["pack-objects", "--revs", "--stdout", "--thin", "--quiet"], {
        folder: COPY_FOLDER,
        input: `${tip}\n^${base}\n`,
      }),
    /** Sends a pack; where nothing else is said, as the second commit to `main`. */
    take: async (
      pack: Uint8Array | AsyncIterable<Uint8Array>,
      { tip = second, branch = "main", signal = new AbortController().signal } = {},
    ) => {
      const pieces = pack instanceof Uint8Array ? asByteStream(pack) : pack
      const caller = await callerOf(here.world, at.company)
      const { pushed, lines } = await code.receivePack(caller, RULES, {
        tip,
        branch,
        pack: pieces,
        signal,
      })
      return { pushed, text: lines.join("\n") }
    },
    /** Nothing is left of what was sent, and no branch has moved. */
    expectNothing: async (facts: readonly string[] = []) => {
      expect(await tips()).toEqual({ main: first })
      expect(await quarantineFolders(here.codeDir, at.company)).toEqual([])
      expect(await told()).toEqual(facts)
      expect(here.world.ports.packSlots.count()).toMatchObject({ in: 0, waiting: 0 })
    },
  })
}

/** Bytes as they come. */
export async function* asByteStream(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

async function callerOf({ ports }: World, { companyId, keyId, ownerId }: Company): Promise<Caller> {
  const who = (state: AccessState) => ({
    key: findKey(state, keyId),
    person: findPerson(state, ownerId),
  })
  const { key, person } = await ports.runner.readLatest(accessStreamOf(companyId), who)
  const spender = { via: "own_key", keyId, personId: ownerId } as const
  return { companyId, key, person, spender, requestId: "req_of_a_test" }
}
