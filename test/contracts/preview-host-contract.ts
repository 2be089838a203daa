/**
 * What every host of previews keeps. Sites and apps are those that each of them knows: files that need no
 * building, and a page; what only real machines can do has tests of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { AppStartPlan, PreviewHost } from "../../adapters/sandbox/preview-host/port.ts"
import { fetchPage, readArchive } from "../preview-host/preview-client.ts"
import { newAppPlan, newBuildPlan, newPublishId } from "../preview-host/plans.ts"

/** A host, as the suite needs it. */
export interface PreviewHostFixture {
  readonly host: PreviewHost
  /** A second program on the same machine, with the same previews. */
  readonly otherHost: PreviewHost
  /** Lets so much time go by for the sandboxes, milliseconds. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** What a suite is given: `absent` says why it cannot run here; null where it can. */
export interface PreviewHostSuiteOptions {
  readonly unavailableReason: string | null
  readonly open: () => Promise<PreviewHostFixture>
}

const PAGE = `import { createServer } from "node:http"
createServer((_, answer) => answer.end("a page")).listen(Number(process.env.PORT), "127.0.0.1")`

const noFiles = (): never => {
  throw new Error("the files were asked for again")
}

/** The suite. */
export function previewHostContract(
  name: string,
  { unavailableReason, open }: PreviewHostSuiteOptions,
): void {
  const needed = unavailableReason ?? "previews can be made here"
  let fixture: PreviewHostFixture
  beforeAll(async () => {
    if (unavailableReason === null) fixture = await open()
  })
  afterAll(async () => {
    if (unavailableReason === null) await fixture.close()
  })

  describe(`a build of ${name}`, () => {
    const files = { "dist/index.html": "one", "dist/a/b.txt": "two", "src/no.txt": "three" }

    it("gives what is in a site's folder", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      expect(await fixture.host.canBuild()).toBe(true)
      const built = await fixture.host.build(newBuildPlan(files), readArchive)
      expect(built).toMatchObject({ ok: true, stored: { "index.html": "one", "a/b.txt": "two" } })
      expect(Object.keys(built.ok ? built.stored : {}).length).toBe(2)
    })

    it("gives all that is in an app's root", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const serves = { kind: "app", start: "true", release: null, health: "/" } as const
      const built = await fixture.host.build(
        newBuildPlan(files, { root: "dist", serves }),
        readArchive,
      )
      expect(built).toMatchObject({ ok: true, stored: { "index.html": "one", "a/b.txt": "two" } })
    })

    it("names the folder that it does not find", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const serves = { kind: "static", folder: "out", fallback: null } as const
      const built = await fixture.host.build(newBuildPlan(files, { serves }), readArchive)
      expect(built).toMatchObject({ ok: false, reason: "The build created no folder out." })
    })

    it("throws what keeping it throws", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const kept = fixture.host.build(newBuildPlan(files), async (built) => {
        await readArchive(built)
        throw new Error("no room to keep it")
      })
      await expect(kept).rejects.toThrow("no room to keep it")
    })

    it("is not begun where nobody waits for it any more", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const signal = AbortSignal.abort(new Error("nobody waits"))
      const built = fixture.host.build(newBuildPlan(files, {}, { signal }), readArchive)
      await expect(built).rejects.toThrow("nobody waits")
    })
  })

  describe(`apps of ${name}`, () => {
    let first: AppStartPlan
    let second: AppStartPlan
    beforeAll(() => {
      first = newAppPlan(PAGE)
      second = { ...first, publishId: newPublishId() }
    })

    it("do not run before they are started", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const { host } = fixture
      expect(await host.connect(first)).toBeNull()
      expect(await host.readStatus(first.companyId)).toBeNull()
      expect(await host.measureBytes(first.companyId)).toBeNull()
      // What is asked of none changes nothing.
      await host.removeVersion(first)
      await host.sleep(first.companyId)
      await host.extend(first.companyId, 60_000)
      expect(await host.listRunning()).not.toContain(first.companyId)
    })

    it("answer once they are started, through every program", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      await fixture.host.start(first)
      expect(await fetchPage(fixture.host, first)).toContain("page")
      expect(await fetchPage(fixture.otherHost, first)).toContain("page")
      expect(await fixture.otherHost.listRunning()).toContain(first.companyId)
      expect(await fixture.host.connect(second)).toBeNull()
      expect(await fixture.host.measureBytes(first.companyId)).toBeGreaterThan(0)
    })

    it("are started once", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const again = [fixture.otherHost, fixture.host].map((host) => host.start(first))
      await Promise.all(again)
      expect((await fixture.host.readStatus(first.companyId))?.versions.length).toBe(1)
    })

    it("count what passes, and nothing else", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      const activities = async () =>
        (await fixture.host.readStatus(first.companyId))?.activities ?? 0
      const before = await activities()
      expect(await activities()).toBe(before)
      await fetchPage(fixture.host, first)
      expect(await activities()).toBeGreaterThan(before)
    })

    it("run beside one another until one is ended", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      await fixture.host.start(second)
      expect(await fetchPage(fixture.host, first)).toContain("page")
      expect(await fetchPage(fixture.host, second)).toContain("page")
      await fixture.otherHost.removeVersion(first)
      expect(await fixture.host.connect(first)).toBeNull()
      expect(await fetchPage(fixture.host, second)).toContain("page")
      const standing = await fixture.host.readStatus(first.companyId)
      expect(standing?.versions.map((one) => [one.publishId, one.status])).toEqual([
        [second.publishId, "running"],
      ])
    })

    it("sleep, and wake up without their files", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      await fixture.host.sleep(second.companyId)
      expect(await fixture.otherHost.readStatus(second.companyId)).toBeNull()
      expect(await fixture.otherHost.connect(second)).toBeNull()
      expect(await fixture.otherHost.measureBytes(second.companyId)).toBeGreaterThan(0)
      await fixture.otherHost.start({ ...second, isNew: false, files: noFiles })
      expect(await fetchPage(fixture.host, second)).toContain("page")
    })

    it("live as long as their lease", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      await fixture.host.extend(second.companyId, 600_000)
      const left = (await fixture.otherHost.readStatus(second.companyId))?.leaseLeftMs ?? 0
      expect(left).toBeGreaterThan(300_000)
      await fixture.host.extend(second.companyId, 50)
      await fixture.advance(50)
      await expect.poll(() => fixture.otherHost.readStatus(second.companyId)).toBeNull()
    })

    it("are gone once they are erased", async (ctx) => {
      ctx.skip(unavailableReason !== null, needed)
      await fixture.host.start({ ...second, isNew: false })
      for (const host of [fixture.host, fixture.otherHost]) await host.erase(second.companyId)
      expect(await fixture.host.measureBytes(second.companyId)).toBeNull()
      expect(await fixture.host.listRunning()).not.toContain(second.companyId)
    })
  })
}
