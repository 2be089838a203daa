import { beforeEach, describe, expect, it } from "vitest"
import type { Tip } from "../../adapters/git/port.ts"
import { compareRefs } from "../../src/code/compare-refs.ts"
import { judgePush, landed } from "../../src/code/push-checks.ts"
import { settlePush } from "../../src/code/reactions.ts"
import { rowOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import {
  codeFacts,
  createRepository,
  objectId,
  portsWith,
  pretendPush,
  landedPush,
  pusherOf,
} from "./pretended.ts"

const world = await ownWorld("settings")
let company: Company
let tips: Tip[]
beforeEach(async () => {
  tips = []
  company = await makeCompany(world)
  await createRepository(world, company)
})

const ports = () => portsWith(world, () => tips)
const updates = [{ ref: "refs/heads/main", old: null, new: objectId(1) }]

async function acceptOne() {
  const judged = await judgePush(ports(), pusherOf(company), pretendPush({ updates }), 0)
  if (!judged.ok) throw new Error(judged.lines.join("\n"))
  return judged.pushId
}

const status = async () => {
  await world.operate("wait")
  const { pushes } = await world.operate("code pushes", { company: company.companyId })
  return pushes.map((one: { status: string }) => one.status)
}

describe("a push that was accepted", () => {
  it("has landed once its refs are there, and its work is done", async () => {
    const pushId = await acceptOne()
    tips = [{ ref: "refs/heads/main", id: objectId(1) }]
    await landed(ports(), pusherOf(company), pushId)
    await landed(ports(), pusherOf(company), pushId)
    expect((await codeFacts(world, company)).slice(1)).toEqual(["PushAccepted", "PushCompleted"])
    expect(await status()).toEqual(["landed"])
    expect(await world.ports.work.names("reconcile-push")).not.toContain(pushId)
  })

  it.each([
    ["landed", [{ ref: "refs/heads/main", id: objectId(1) }], "PushCompleted"],
    ["other", [], "RefsReconciled"],
    ["other", [{ ref: "refs/heads/main", id: objectId(2) }], "RefsReconciled"],
  ])("and never heard of again is ended by its work: %s", async (ended, found, fact) => {
    const pushId = await acceptOne()
    await world.operate("wait")
    tips = found
    const work = await rowOf(world, "reconcile-push", pushId)
    const signal = new AbortController().signal
    const { companyId } = company
    expect(await settlePush.perform(ports(), { ...work, companyId, signal })).toEqual({
      result: "done",
    })
    expect((await codeFacts(world, company)).slice(1)).toEqual(["PushAccepted", fact])
    expect(await status()).toEqual([ended])
  })
})

it("a push that moved in part is listed with what each of its refs did", async () => {
  const [a, b, c] = ["a", "b", "c"].map((one) => one.repeat(40)) as [string, string, string]
  const made = ["moved", "left", "elsewhere"].map((one) => `refs/heads/${one}`)
  const before = pretendPush({ updates: [{ ref: "refs/heads/gone", old: null, new: a }] })
  await landedPush(world, company, before)
  const moves = [
    ...made.map((ref) => ({ ref, old: null, new: b })),
    { ref: "refs/heads/gone", old: a, new: null },
  ]
  const judgedPush = await judgePush(ports(), pusherOf(company), pretendPush({ updates: moves }), 0)
  if (!judgedPush.ok) throw new Error(judgedPush.lines.join("\n"))
  tips = [
    { ref: "refs/heads/moved", id: b },
    { ref: "refs/heads/elsewhere", id: c },
  ]
  await landed(ports(), pusherOf(company), judgedPush.pushId)
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

describe("refs that nobody pushed", () => {
  it("are told of once, many at a time, and when they are gone", async () => {
    tips = Array.from({ length: 700 }, (_, i) => ({ ref: `refs/heads/b${i}`, id: objectId(i) }))
    expect(await compareRefs(ports(), pusherOf(company), null)).toBe(true)
    expect(await compareRefs(ports(), pusherOf(company), null)).toBe(true)
    expect((await codeFacts(world, company)).slice(1)).toEqual(["RefsReconciled", "RefsReconciled"])
    tips = tips.slice(1)
    await compareRefs(ports(), pusherOf(company), null)
    expect((await codeFacts(world, company)).slice(3)).toEqual(["RefsReconciled"])
  })

  it("are looked at again later where they move on all the while", async () => {
    const moving = {
      ...ports(),
      repositories: {
        ...world.ports.repositories,
        tips: async () => {
          await landedPush(world, company, pretendPush({ updates: [] }))
          return [{ ref: "refs/heads/x", id: objectId(7) }]
        },
      },
    }
    expect(await compareRefs(moving, pusherOf(company), null)).toBe(false)
  })
})

describe("the branch of a release that the company's code has not taken in", () => {
  const [one, two] = [objectId("a1"), objectId("a2")]
  const codeBranch = async () => {
    const { body } = await world.call(company.key, "GET", "/api/v1/updates?version=0.0.1")
    return body.codeBranch
  }
  const take = async (tree: string, id: number, old: number | null) => {
    const commit = {
      id: objectId(id),
      root: [{ name: "src", mode: "40000", id: "5" }],
      src: [{ name: "sealed", mode: "40000", id: tree }],
    }
    const from = old === null ? null : objectId(old)
    const moved = [{ ref: "refs/heads/main", old: from, new: commit.id }]
    await landedPush(world, company, pretendPush({ updates: moved, commits: [commit] }))
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
    await take(one, 1, null)
    expect(await codeBranch()).toEqual(missed)
    await take(two, 2, 1)
    expect(await codeBranch()).toBeNull()
    await world.operate("release seal", { version: "2.1.0", tree: objectId("a3") })
    await take(objectId("a3"), 3, 2)
    expect(await codeBranch()).toBeNull()
    await take(one, 4, 3)
    expect(await codeBranch()).toEqual(missed)
    const none = await makeCompany(world)
    const { body } = await world.call(none.key, "GET", "/api/v1/updates?version=0.0.1")
    expect(body.codeBranch).toBeNull()
  })
})
