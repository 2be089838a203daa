import { beforeEach, describe, expect, it } from "vitest"
import type { GitRef } from "../../adapters/git/port.ts"
import { reconcileRefs } from "../../src/code/reconcile-refs.ts"
import { checkPush, completePush } from "../../src/code/push-checks.ts"
import { reconcilePush } from "../../src/code/reactions.ts"
import { jobOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import {
  codeFactTypes,
  recordRepository,
  fakeObjectId,
  portsWithRefs,
  fakePush,
  landPush,
  pusherOf,
} from "./fake-pushes.ts"

const world = await ownWorld("settings")
let company: Company
let tips: GitRef[]
beforeEach(async () => {
  tips = []
  company = await makeCompany(world)
  await recordRepository(world, company)
})

const ports = () => portsWithRefs(world, () => tips)
const updates = [{ ref: "refs/heads/main", old: null, new: fakeObjectId(1) }]

async function acceptOne() {
  const judged = await checkPush(ports(), pusherOf(company), fakePush({ updates }), 0)
  if (!judged.ok) throw new Error(judged.lines.join("\n"))
  return judged.pushId
}

const status = async () => {
  await world.operate("wait")
  const { pushes } = await world.operate("code pushes", { company: company.companyId })
  return pushes.map((one: { status: string }) => one.status)
}

describe("an accepted push", () => {
  it("lands once its refs are found, and its job is done", async () => {
    const pushId = await acceptOne()
    tips = [{ ref: "refs/heads/main", id: fakeObjectId(1) }]
    await completePush(ports(), pusherOf(company), pushId)
    await completePush(ports(), pusherOf(company), pushId)
    expect((await codeFactTypes(world, company)).slice(1)).toEqual([
      "PushAccepted",
      "PushCompleted",
    ])
    expect(await status()).toEqual(["landed"])
    expect(await world.ports.jobs.listNames("reconcile-push")).not.toContain(pushId)
  })

  it.each([
    ["landed", [{ ref: "refs/heads/main", id: fakeObjectId(1) }], "PushCompleted"],
    ["other", [], "RefsReconciled"],
    ["other", [{ ref: "refs/heads/main", id: fakeObjectId(2) }], "RefsReconciled"],
  ])("that was not completed is reconciled by its job: %s", async (ended, found, fact) => {
    const pushId = await acceptOne()
    await world.operate("wait")
    tips = found
    const job = await jobOf(world, "reconcile-push", pushId)
    const signal = new AbortController().signal
    const { companyId } = company
    expect(await reconcilePush.perform(ports(), { ...job, companyId, signal })).toEqual({
      result: "done",
    })
    expect((await codeFactTypes(world, company)).slice(1)).toEqual(["PushAccepted", fact])
    expect(await status()).toEqual([ended])
  })
})

it("a push that landed in part is listed with the outcome of each ref", async () => {
  const [a, b, c] = ["a", "b", "c"].map((one) => one.repeat(40)) as [string, string, string]
  const createdRefs = ["moved", "left", "elsewhere"].map((one) => `refs/heads/${one}`)
  const before = fakePush({ updates: [{ ref: "refs/heads/gone", old: null, new: a }] })
  await landPush(world, company, before)
  const moves = [
    ...createdRefs.map((ref) => ({ ref, old: null, new: b })),
    { ref: "refs/heads/gone", old: a, new: null },
  ]
  const judgedPush = await checkPush(ports(), pusherOf(company), fakePush({ updates: moves }), 0)
  if (!judgedPush.ok) throw new Error(judgedPush.lines.join("\n"))
  tips = [
    { ref: "refs/heads/moved", id: b },
    { ref: "refs/heads/elsewhere", id: c },
  ]
  await completePush(ports(), pusherOf(company), judgedPush.pushId)
  await world.operate("wait")
  const { pushes } = await world.operate("code pushes", { company: company.companyId })
  expect(pushes[0]).toMatchObject({
    status: "other",
    lines: [
      "refs/heads/moved none..bbbbbbbbbbbb moved",
      "refs/heads/left none..bbbbbbbbbbbb not seen to move",
      "refs/heads/elsewhere none..bbbbbbbbbbbb moved to cccccccccccc",
      "refs/heads/gone aaaaaaaaaaaa..none moved",
    ],
  })
})

describe("refs that changed without a push", () => {
  it("are recorded once, many at a time, and again when they are deleted", async () => {
    tips = Array.from({ length: 700 }, (_, i) => ({ ref: `refs/heads/b${i}`, id: fakeObjectId(i) }))
    expect(await reconcileRefs(ports(), pusherOf(company), null)).toBe(true)
    expect(await reconcileRefs(ports(), pusherOf(company), null)).toBe(true)
    expect((await codeFactTypes(world, company)).slice(1)).toEqual([
      "RefsReconciled",
      "RefsReconciled",
    ])
    tips = tips.slice(1)
    await reconcileRefs(ports(), pusherOf(company), null)
    expect((await codeFactTypes(world, company)).slice(3)).toEqual(["RefsReconciled"])
  })

  it("are reconciled later when pushes keep moving refs", async () => {
    const moving = {
      ...ports(),
      repositories: {
        ...world.ports.repositories,
        listRefs: async () => {
          await landPush(world, company, fakePush({ updates: [] }))
          return [{ ref: "refs/heads/x", id: fakeObjectId(7) }]
        },
      },
    }
    expect(await reconcileRefs(moving, pusherOf(company), null)).toBe(false)
  })
})

describe("the branch of a release that the company has not merged", () => {
  const [one, two] = [fakeObjectId("a1"), fakeObjectId("a2")]
  const codeBranch = async () => {
    const { body } = await world.call(company.key, "GET", "/api/v1/updates?version=0.0.1")
    return body.codeBranch
  }
  const merge = async (tree: string, id: number, old: number | null) => {
    const commit = {
      id: fakeObjectId(id),
      root: [{ name: "src", mode: "40000", id: "5" }],
      src: [{ name: "sealed", mode: "40000", id: tree }],
    }
    const from = old === null ? null : fakeObjectId(old)
    const moved = [{ ref: "refs/heads/main", old: from, new: commit.id }]
    await landPush(world, company, fakePush({ updates: moved, commits: [commit] }))
  }

  it("is the newest until its core, or a later one, is on the default branch", async () => {
    expect(await codeBranch()).toBeNull()
    for (const [version, tree] of [["1.0.0", one] as const, ["2.0.0", two] as const]) {
      const release = { version, notes: "n", channel: "stable", required: version === "2.0.0" }
      await world.operate("release publish", release)
      await world.operate("release seal", { version, tree })
    }
    await world.operate("release publish", { version: "3.0.0", notes: "n", channel: "stable" })
    const missed = { version: "2.0.0", status: "available", required: true }
    expect(await codeBranch()).toEqual(missed)
    await merge(one, 1, null)
    expect(await codeBranch()).toEqual(missed)
    await merge(two, 2, 1)
    expect(await codeBranch()).toBeNull()
    await world.operate("release seal", { version: "2.1.0", tree: fakeObjectId("a3") })
    await merge(fakeObjectId("a3"), 3, 2)
    expect(await codeBranch()).toBeNull()
    await merge(one, 4, 3)
    expect(await codeBranch()).toEqual(missed)
    const none = await makeCompany(world)
    const { body } = await world.call(none.key, "GET", "/api/v1/updates?version=0.0.1")
    expect(body.codeBranch).toBeNull()
  })
})
