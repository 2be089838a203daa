/**
 * The contract of every preview host. It uses sites and apps that every host can serve: files that need no
 * build, and one page. Features that only real machines have are tested separately.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { AppStartPlan, PreviewHost } from "../../adapters/sandbox/preview-host/port.ts"
import { fetchPage, readArchive } from "../preview-host/preview-client.ts"
import { newAppPlan, newBuildPlan, newPublishId } from "../preview-host/plans.ts"

export interface PreviewHostFixture {
  readonly host: PreviewHost
  /** A second program on the same machine, with the same previews. */
  readonly otherHost: PreviewHost
  /** Advances the time of the sandboxes by milliseconds. */
  readonly advance: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Options of the suite: `unavailableReason` says why it cannot run here; null if it can. */
export interface PreviewHostSuiteOptions {
  readonly unavailableReason: string | null
  readonly open: () => Promise<PreviewHostFixture>
}

const PAGE = `import { createServer } from "node:http"
createServer((_, answer) => answer.end("a page")).listen(Number(process.env.PORT), "127.0.0.1")`

const noFiles = (): never => {
  throw new Error("the files were requested again")
}

/** Adds the suite for one host. */
export function previewHostContract(
  name: string,
  { unavailableReason, open }: PreviewHostSuiteOptions,
): void {
  const skipReason = unavailableReason ?? "previews can be made here"
  let fixture: PreviewHostFixture
  beforeAll(async () => {
    if (unavailableReason === null) fixture = await open()
  })
  afterAll(async () => {
    if (unavailableReason === null) await fixture.close()
  })

  describe(`a build of ${name}`, () => {
    const files = { "dist/index.html": "one", "dist/a/b.txt": "two", "src/no.txt": "three" }

    it("returns the files of a site's folder", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      expect(await fixture.host.canBuild()).toBe(true)
      const built = await fixture.host.build(newBuildPlan(files), readArchive)
      expect(built).toMatchObject({ ok: true, stored: { "index.html": "one", "a/b.txt": "two" } })
      expect(Object.keys(built.ok ? built.stored : {}).length).toBe(2)
    })

    it("returns all files of an app's root", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const serves = { kind: "app", start: "true", release: null, health: "/" } as const
      const built = await fixture.host.build(
        newBuildPlan(files, { root: "dist", serves }),
        readArchive,
      )
      expect(built).toMatchObject({ ok: true, stored: { "index.html": "one", "a/b.txt": "two" } })
    })

    it("names the missing folder", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const serves = { kind: "static", folder: "out", fallback: null } as const
      const built = await fixture.host.build(newBuildPlan(files, { serves }), readArchive)
      expect(built).toMatchObject({ ok: false, reason: "The build created no folder out." })
    })

    it("fails with the error of storing it", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const building = fixture.host.build(newBuildPlan(files), async (built) => {
        await readArchive(built)
        throw new Error("no room to store it")
      })
      await expect(building).rejects.toThrow("no room to store it")
    })

    it("does not begin if it is already aborted", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const signal = AbortSignal.abort(new Error("aborted"))
      const built = fixture.host.build(newBuildPlan(files, {}, { signal }), readArchive)
      await expect(built).rejects.toThrow("aborted")
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
      ctx.skip(unavailableReason !== null, skipReason)
      const { host } = fixture
      expect(await host.connect(first)).toBeNull()
      expect(await host.readStatus(first.companyId)).toBeNull()
      expect(await host.measureBytes(first.companyId)).toBeNull()
      // Requests for an app that does not run change nothing.
      await host.removeVersion(first)
      await host.sleep(first.companyId)
      await host.extend(first.companyId, 60_000)
      expect(await host.listRunning()).not.toContain(first.companyId)
    })

    it("answer once they are started, from every program on the machine", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      await fixture.host.start(first)
      expect(await fetchPage(fixture.host, first)).toContain("page")
      expect(await fetchPage(fixture.otherHost, first)).toContain("page")
      expect(await fixture.otherHost.listRunning()).toContain(first.companyId)
      expect(await fixture.host.connect(second)).toBeNull()
      expect(await fixture.host.measureBytes(first.companyId)).toBeGreaterThan(0)
    })

    it("start once for concurrent callers", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const again = [fixture.otherHost, fixture.host].map((host) => host.start(first))
      await Promise.all(again)
      expect((await fixture.host.readStatus(first.companyId))?.versions.length).toBe(1)
    })

    it("count only requests as activity", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      const activities = async () =>
        (await fixture.host.readStatus(first.companyId))?.activities ?? 0
      const before = await activities()
      expect(await activities()).toBe(before)
      await fetchPage(fixture.host, first)
      expect(await activities()).toBeGreaterThan(before)
    })

    it("run in two versions until one is removed", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      await fixture.host.start(second)
      expect(await fetchPage(fixture.host, first)).toContain("page")
      expect(await fetchPage(fixture.host, second)).toContain("page")
      await fixture.otherHost.removeVersion(first)
      expect(await fixture.host.connect(first)).toBeNull()
      expect(await fetchPage(fixture.host, second)).toContain("page")
      const status = await fixture.host.readStatus(first.companyId)
      expect(status?.versions.map((one) => [one.publishId, one.status])).toEqual([
        [second.publishId, "running"],
      ])
    })

    it("sleep, and start again without their files", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      await fixture.host.sleep(second.companyId)
      expect(await fixture.otherHost.readStatus(second.companyId)).toBeNull()
      expect(await fixture.otherHost.connect(second)).toBeNull()
      expect(await fixture.otherHost.measureBytes(second.companyId)).toBeGreaterThan(0)
      await fixture.otherHost.start({ ...second, isNew: false, files: noFiles })
      expect(await fetchPage(fixture.host, second)).toContain("page")
    })

    it("end with their lease", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      await fixture.host.extend(second.companyId, 600_000)
      const left = (await fixture.otherHost.readStatus(second.companyId))?.leaseLeftMs ?? 0
      expect(left).toBeGreaterThan(300_000)
      await fixture.host.extend(second.companyId, 50)
      await fixture.advance(50)
      await expect.poll(() => fixture.otherHost.readStatus(second.companyId)).toBeNull()
    })

    it("are gone once they are erased", async (ctx) => {
      ctx.skip(unavailableReason !== null, skipReason)
      await fixture.host.start({ ...second, isNew: false })
      for (const host of [fixture.host, fixture.otherHost]) await host.erase(second.companyId)
      expect(await fixture.host.measureBytes(second.companyId)).toBeNull()
      expect(await fixture.host.listRunning()).not.toContain(second.companyId)
    })
  })
}
