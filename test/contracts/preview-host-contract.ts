/**
 * What every host of previews keeps. Sites and apps are those that each of them knows: files that need no
 * building, and a page; what only real machines can do has tests of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { AppPlan, PreviewHost } from "../../adapters/sandbox/preview-host/port.ts"
import { page, read } from "../preview-host/asking.ts"
import { appOf, buildOf, newPublishId } from "../preview-host/plans.ts"

/** A host, as the suite needs it. */
export interface PreviewHostFixture {
  readonly host: PreviewHost
  /** A second program on the same machine, with the same previews. */
  readonly another: PreviewHost
  /** Lets so much time go by for the sandboxes, milliseconds. */
  readonly pass: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** What a suite is given: `absent` says why it cannot run here; null where it can. */
export interface PreviewHostGiven {
  readonly absent: string | null
  readonly open: () => Promise<PreviewHostFixture>
}

const PAGE = `import { createServer } from "node:http"
createServer((_, answer) => answer.end("a page")).listen(Number(process.env.PORT), "127.0.0.1")`

const noFiles = (): never => {
  throw new Error("the files were asked for again")
}

/** The suite. */
export function previewHostContract(name: string, { absent, open }: PreviewHostGiven): void {
  const needed = absent ?? "previews can be made here"
  let fixture: PreviewHostFixture
  beforeAll(async () => {
    if (absent === null) fixture = await open()
  })
  afterAll(async () => {
    if (absent === null) await fixture.close()
  })

  describe(`a build of ${name}`, () => {
    const files = { "dist/index.html": "one", "dist/a/b.txt": "two", "src/no.txt": "three" }

    it("gives what is in a site's folder", async (ctx) => {
      ctx.skip(absent !== null, needed)
      expect(await fixture.host.isAble()).toBe(true)
      const built = await fixture.host.build(buildOf(files), read)
      expect(built).toMatchObject({ ok: true, kept: { "index.html": "one", "a/b.txt": "two" } })
      expect(Object.keys(built.ok ? built.kept : {}).length).toBe(2)
    })

    it("gives all that is in an app's root", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const serves = { kind: "app", start: "true", release: null, health: "/" } as const
      const built = await fixture.host.build(buildOf(files, { root: "dist", serves }), read)
      expect(built).toMatchObject({ ok: true, kept: { "index.html": "one", "a/b.txt": "two" } })
    })

    it("names the folder that it does not find", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const serves = { kind: "static", folder: "out", fallback: null } as const
      const built = await fixture.host.build(buildOf(files, { serves }), read)
      expect(built).toMatchObject({ ok: false, why: "The build left no folder out." })
    })

    it("throws what keeping it throws", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const kept = fixture.host.build(buildOf(files), async (built) => {
        await read(built)
        throw new Error("no room to keep it")
      })
      await expect(kept).rejects.toThrow("no room to keep it")
    })

    it("is not begun where nobody waits for it any more", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const signal = AbortSignal.abort(new Error("nobody waits"))
      const built = fixture.host.build(buildOf(files, {}, { signal }), read)
      await expect(built).rejects.toThrow("nobody waits")
    })
  })

  describe(`apps of ${name}`, () => {
    let first: AppPlan
    let second: AppPlan
    beforeAll(() => {
      first = appOf(PAGE)
      second = { ...first, publishId: newPublishId() }
    })

    it("do not run before they are started", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const { host } = fixture
      expect(await host.dial(first)).toBeNull()
      expect(await host.look(first.companyId)).toBeNull()
      expect(await host.measure(first.companyId)).toBeNull()
      // What is asked of none changes nothing.
      await host.end(first)
      await host.sleep(first.companyId)
      await host.extend(first.companyId, 60_000)
      expect(await host.list()).not.toContain(first.companyId)
    })

    it("answer once they are started, through every program", async (ctx) => {
      ctx.skip(absent !== null, needed)
      await fixture.host.start(first)
      expect(await page(fixture.host, first)).toContain("page")
      expect(await page(fixture.another, first)).toContain("page")
      expect(await fixture.another.list()).toContain(first.companyId)
      expect(await fixture.host.dial(second)).toBeNull()
      expect(await fixture.host.measure(first.companyId)).toBeGreaterThan(0)
    })

    it("are started once", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const again = [fixture.another, fixture.host].map((host) => host.start(first))
      await Promise.all(again)
      expect((await fixture.host.look(first.companyId))?.versions.length).toBe(1)
    })

    it("count what passes, and nothing else", async (ctx) => {
      ctx.skip(absent !== null, needed)
      const activities = async () => (await fixture.host.look(first.companyId))?.activities ?? 0
      const before = await activities()
      expect(await activities()).toBe(before)
      await page(fixture.host, first)
      expect(await activities()).toBeGreaterThan(before)
    })

    it("run beside one another until one is ended", async (ctx) => {
      ctx.skip(absent !== null, needed)
      await fixture.host.start(second)
      expect(await page(fixture.host, first)).toContain("page")
      expect(await page(fixture.host, second)).toContain("page")
      await fixture.another.end(first)
      expect(await fixture.host.dial(first)).toBeNull()
      expect(await page(fixture.host, second)).toContain("page")
      const standing = await fixture.host.look(first.companyId)
      expect(standing?.versions.map((one) => [one.publishId, one.status])).toEqual([
        [second.publishId, "running"],
      ])
    })

    it("sleep, and wake up without their files", async (ctx) => {
      ctx.skip(absent !== null, needed)
      await fixture.host.sleep(second.companyId)
      expect(await fixture.another.look(second.companyId)).toBeNull()
      expect(await fixture.another.dial(second)).toBeNull()
      expect(await fixture.another.measure(second.companyId)).toBeGreaterThan(0)
      await fixture.another.start({ ...second, isNew: false, files: noFiles })
      expect(await page(fixture.host, second)).toContain("page")
    })

    it("live as long as their lease", async (ctx) => {
      ctx.skip(absent !== null, needed)
      await fixture.host.extend(second.companyId, 600_000)
      const left = (await fixture.another.look(second.companyId))?.leaseLeftMs ?? 0
      expect(left).toBeGreaterThan(300_000)
      await fixture.host.extend(second.companyId, 50)
      await fixture.pass(50)
      await expect.poll(() => fixture.another.look(second.companyId)).toBeNull()
    })

    it("are gone once they are erased", async (ctx) => {
      ctx.skip(absent !== null, needed)
      await fixture.host.start({ ...second, isNew: false })
      for (const host of [fixture.host, fixture.another]) await host.erase(second.companyId)
      expect(await fixture.host.measure(second.companyId)).toBeNull()
      expect(await fixture.host.list()).not.toContain(second.companyId)
    })
  })
}
