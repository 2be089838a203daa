import { describe, expect, it } from "vitest"
import type { CodeFact, PushId } from "../../domain/code/code-events.ts"
import { codeDecider, codeCheckpoint } from "../../domain/code/code.ts"
import {
  coreTreeOf,
  defaultBranchHashOf,
  differingRefs,
  hasRepository,
  isSecretAllowed,
  knownRefs,
} from "../../domain/code/code-views.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { acceptPushCommand, refUpdate } from "./code-commands.ts"

const NOW = Date.parse("2026-03-02T10:00:00.000Z")
const [A, B, C] = ["a", "b", "c"].map((one) => one.repeat(40)) as [string, string, string]
const created = { type: "RepositoryCreated", at: NOW } as const
const acceptedPush = (
  pushId: PushId,
  updates: CodeFact<"PushAccepted">["updates"],
  core: CodeFact<"PushAccepted">["core"] = null,
): CodeFact<"PushAccepted"> => {
  const { scrubCount: _scrubs, ...accepted } = acceptPushCommand(pushId, updates)
  return { ...accepted, core, type: "PushAccepted", at: NOW }
}
const landedPush = (pushId: PushId) => ({ type: "PushCompleted", at: NOW, pushId }) as const
const one = acceptedPush("push_1", [refUpdate("main", null, A)])
const two = acceptedPush("push_2", [refUpdate("main", A, B)])
const ref = "s1.company.YQ" as const
const found = (refHash: string, id: string | null) => ({ ref, refHash, id })
const find = (pushId: PushId | null, asOf: number, ...refs: readonly ReturnType<typeof found>[]) =>
  ({ type: "ReconcileRefs", at: NOW, pushId, readVersion: asOf, refs }) as const

describe("a push", () => {
  it("needs a repository, and is accepted once", () => {
    const command = { ...acceptPushCommand("push_1", one.updates), at: NOW }
    given(codeDecider).when(command).refuses("no_repository")
    given(codeDecider, created).when(command).records(one)
    given(codeDecider, created, one).when(command).recordsNothing()
  })

  it("lands when its refs are found moved", () => {
    given(codeDecider, created, one)
      .when(find("push_1", 1, found("main", A)))
      .records(landedPush("push_1"))
    given(codeDecider, created, one, landedPush("push_1")).when(find("push_1", 2)).recordsNothing()
  })

  it("ends without a move when its refs are unchanged", () => {
    const nothing = { type: "RefsReconciled", at: NOW, pushId: "push_1", refs: [] } as const
    given(codeDecider, created, one).when(find("push_1", 1)).records(nothing)
    // A ref that moves later is recorded when it is found.
    given(codeDecider, created, one, nothing)
      .when(find("push_1", 2, found("main", A)))
      .records({ type: "RefsReconciled", at: NOW, pushId: null, refs: [found("main", A)] })
  })

  it("that moved one ref of two is recorded with that ref", () => {
    const both = acceptedPush("push_1", [refUpdate("main", null, A), refUpdate("other", null, B)])
    const half = find("push_1", 1, found("main", A))
    given(codeDecider, created, both)
      .when(half)
      .records({ type: "RefsReconciled", at: NOW, pushId: "push_1", refs: [found("main", A)] })
  })

  it("lands although a later push has moved its ref further, in either order", () => {
    const onTop = found("main", B)
    given(codeDecider, created, one, two)
      .when(find("push_1", 2, onTop))
      .records(landedPush("push_1"))
    given(codeDecider, created, one, two)
      .when(find("push_2", 2, onTop))
      .records(landedPush("push_2"))
    given(codeDecider, created, one, two, landedPush("push_2"))
      .when(find("push_1", 3))
      .records(landedPush("push_1"))
    const state = foldFacts(
      codeDecider,
      created,
      one,
      two,
      landedPush("push_2"),
      landedPush("push_1"),
    )
    expect(knownRefs(state, null).refs).toEqual(new Map([["main", B]]))
  })

  it("is not taken for an external change while it is under way", () => {
    given(codeDecider, created, one, landedPush("push_1"), two)
      .when(find(null, 3, found("main", B)))
      .recordsNothing()
    given(codeDecider, created, one, landedPush("push_1"), two)
      .when(find(null, 3, found("main", C)))
      .records({ type: "RefsReconciled", at: NOW, pushId: null, refs: [found("main", C)] })
  })

  it("must be read again when another was accepted in the meantime", () => {
    given(codeDecider, created, one, two)
      .when(find("push_1", 1, found("main", A)))
      .refuses("looked_too_early")
  })

  it("may not raise the number of refs above 5,000, including refs of pushes under way", () => {
    const names = Array.from({ length: 4_999 }, (_, i) => refUpdate(`t${i}`, null, A))
    const many = acceptedPush("push_1", names)
    const last = acceptPushCommand("push_2", [refUpdate("last", null, A)])
    given(codeDecider, created, many)
      .when({ ...last, at: NOW })
      .records(acceptedPush("push_2", last.updates))
    const full = [created, many, acceptedPush("push_2", last.updates)]
    const next = { ...acceptPushCommand("push_3", [refUpdate("next", null, A)]), at: NOW }
    given(codeDecider, ...full)
      .when(next)
      .refuses("too_many_refs")
    const swapped = acceptPushCommand("push_3", [
      refUpdate("next", null, A),
      refUpdate("t0", A, null),
    ])
    given(codeDecider, ...full)
      .when({ ...swapped, at: NOW })
      .records(acceptedPush("push_3", swapped.updates))
  })
})

describe("a change of the default branch", () => {
  const changed = {
    type: "DefaultBranchChanged",
    at: NOW,
    ref,
    refHash: "trunk",
    tree: "tree2",
  } as const
  const command = { ...changed, type: "ChangeDefaultBranch" } as const

  it("is recorded once, and rejected while a push is under way", () => {
    given(codeDecider).when(command).refuses("no_repository")
    given(codeDecider, created, one).when(command).refuses("push_under_way")
    given(codeDecider, created, one, landedPush("push_1")).when(command).records(changed)
    given(codeDecider, created, changed).when(command).recordsNothing()
    given(codeDecider, created, changed)
      .when({ ...command, tree: null })
      .records({ ...changed, tree: null })
  })

  it("sets the core, which a push to the former branch does not change", () => {
    const trunk = acceptedPush("push_1", [refUpdate("trunk", null, A), refUpdate("main", null, A)])
    const former = acceptedPush("push_2", [refUpdate("main", A, B)], {
      refHash: "main",
      tree: "tree1",
    })
    const facts = [created, trunk, landedPush("push_1"), changed, former, landedPush("push_2")]
    expect(coreTreeOf(foldFacts(codeDecider, ...facts))).toBe("tree2")
    expect(defaultBranchHashOf(foldFacts(codeDecider, ...facts))).toBe("trunk")
  })
})

describe("the core of the default branch", () => {
  const withCore = acceptedPush("push_1", one.updates, { refHash: "main", tree: "tree1" })

  it("is the core of the push that moved the branch last", () => {
    expect(coreTreeOf(foldFacts(codeDecider, created, withCore))).toBeNull()
    expect(coreTreeOf(foldFacts(codeDecider, created, withCore, landedPush("push_1")))).toBe(
      "tree1",
    )
    const other = {
      type: "RefsReconciled",
      at: NOW,
      pushId: null,
      refs: [found("other", B)],
    } as const
    expect(coreTreeOf(foldFacts(codeDecider, created, withCore, landedPush("push_1"), other))).toBe(
      "tree1",
    )
  })

  it("is unknown after an external change, and known after a push that landed in part", () => {
    const external = {
      type: "RefsReconciled",
      at: NOW,
      pushId: null,
      refs: [found("main", B)],
    } as const
    expect(
      coreTreeOf(foldFacts(codeDecider, created, withCore, landedPush("push_1"), external)),
    ).toBeNull()
    const inPart = { ...external, pushId: "push_1" as const, refs: [found("main", A)] }
    expect(coreTreeOf(foldFacts(codeDecider, created, withCore, inPart))).toBe("tree1")
  })
})

describe("rejected pushes", () => {
  const refusal = (i: number, at: number) => {
    const of = { pushId: `push_${i}`, personId: null, keyId: null, at } as const
    return { type: "PushRefused", ...of, code: "secret", shownLines: null } as const
  }
  const refuse = (i: number, at: number, isNamed = false) =>
    ({ ...refusal(i, at), type: "RefusePush", isReferenced: isNamed }) as const
  const refused = Array.from({ length: 10 }, (_, i) => refusal(i, NOW))

  it("are recorded up to ten a minute", () => {
    given(codeDecider, ...refused.slice(1))
      .when(refuse(9, NOW))
      .records(refusal(9, NOW))
    given(codeDecider, ...refused)
      .when(refuse(10, NOW + 59_999))
      .recordsNothing()
    given(codeDecider, ...refused)
      .when(refuse(10, NOW + 60_000))
      .records(refusal(10, NOW + 60_000))
  })

  it("are recorded beyond that when another fact refers to them", () => {
    given(codeDecider, ...refused)
      .when(refuse(10, NOW, true))
      .records(refusal(10, NOW))
  })
})

describe("a repository", () => {
  const erased = { type: "RepositoryErased", at: NOW } as const
  it("is created and erased once", () => {
    given(codeDecider).when({ type: "CreateRepository", at: NOW }).records(created)
    given(codeDecider, created).when({ type: "CreateRepository", at: NOW }).recordsNothing()
    given(codeDecider, created).when({ type: "EraseRepository", at: NOW }).records(erased)
    given(codeDecider, created, erased).when({ type: "EraseRepository", at: NOW }).recordsNothing()
    const state = foldFacts(codeDecider, created, one, landedPush("push_1"), erased)
    expect([hasRepository(state), knownRefs(state, "push_1")]).toEqual([
      false,
      { readVersion: 3, refs: new Map(), updatedRefHashes: null },
    ])
  })

  it("accepts a secret once it is allowed", () => {
    const allow = { type: "AllowSecret", at: NOW, fingerprint: "ff" } as const
    const allowed = { ...allow, type: "SecretAllowed" } as const
    given(codeDecider).when(allow).records(allowed)
    given(codeDecider, allowed).when(allow).recordsNothing()
    const state = codeCheckpoint.load(codeCheckpoint.save(foldFacts(codeDecider, allowed)))
    expect([isSecretAllowed(state, "ff"), isSecretAllowed(state, "ee")]).toEqual([true, false])
  })
})

describe("refs that differ from the facts", () => {
  it("are those that are deleted, new or moved", () => {
    const known = {
      readVersion: 0,
      refs: new Map(Object.entries({ same: A, gone: A, moved: A })),
      updatedRefHashes: null,
    }
    const tips = new Map(Object.entries({ same: A, moved: B, new: C }))
    expect(differingRefs(known, tips)).toEqual([
      { refHash: "gone", id: null },
      { refHash: "moved", id: B },
      { refHash: "new", id: C },
    ])
  })
})

describe("a repository that is scrubbed", () => {
  const [blob, other] = [C, B]
  const begin = { type: "StartScrub", blob, at: NOW } as const
  const begun = { type: "ScrubStarted", blob, at: NOW } as const
  const ended = { type: "ScrubFinished", blob, isGone: true, at: NOW } as const
  const push = (scrubs: number) => ({
    ...acceptPushCommand("push_1", one.updates, scrubs),
    at: NOW,
  })

  it("rejects pushes until the scrub ends, and those that git began to receive before", () => {
    given(codeDecider, created).when(begin).records(begun)
    for (const scrubs of [0, 1]) {
      given(codeDecider, created, begun).when(push(scrubs)).refuses("being_cleaned")
      given(codeDecider, created, begun, ended).when(push(scrubs)).refuses("being_cleaned")
    }
    given(codeDecider, created, begun, ended).when(push(2)).records(one)
  })

  it("waits for pushes under way, is scrubbed of one blob at a time, and ends once", () => {
    given(codeDecider).when(begin).refuses("no_repository")
    given(codeDecider, created, one).when(begin).refuses("push_under_way")
    given(codeDecider, created, one, landedPush("push_1")).when(begin).records(begun)
    given(codeDecider, created, begun).when(begin).recordsNothing()
    given(codeDecider, created, begun)
      .when({ ...begin, blob: other })
      .refuses("being_cleaned")
    const end = { ...ended, type: "FinishScrub" } as const
    given(codeDecider, created, begun).when(end).records(ended)
    given(codeDecider, created, begun, ended).when(end).recordsNothing()
    given(codeDecider, created, begun)
      .when({ ...end, blob: other })
      .recordsNothing()
  })
})
