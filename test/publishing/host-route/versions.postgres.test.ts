/** Versions of an app that sleep, fail or are replaced during visits. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { ProviderUnavailable } from "../../../adapters/providers/provider-errors.ts"
import { AppStartFailed } from "../../../adapters/sandbox/preview-host/port.ts"
import { waitUntilDrained, visitCount } from "../../../src/publishing/host-route/visits.ts"
import { MAX_WAITING_VISITORS } from "../../../src/publishing/host-route/app-starter.ts"
import { httpSocketHandler, readText } from "../../boxes/preview-world.ts"
import {
  PREVIEW_COOKIE_NAME,
  openPreviewSiteWorld,
  ownPreviewSiteWorld,
} from "./preview-site-world.ts"

const site = await ownPreviewSiteWorld()
afterEach(() => {
  site.hosting.beforeStart = async () => undefined
})

const running = site.runApp

describe("an app that sleeps", () => {
  it("is started once for all visitors, of whom a limited number waits", async () => {
    const publishId = site.publishApp()
    await site.hosting.listen(
      publishId,
      httpSocketHandler((_request, response) => response.end("awake")),
    )
    const [started, ready] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    const before = site.hosting.started.length
    site.hosting.beforeStart = async () => {
      started.resolve(null)
      await ready.promise
    }
    const callers = Array.from({ length: 200 }, () => site.see("/"))
    await started.promise
    // Visitors over the limit are answered immediately.
    let refused = 0
    const all = Promise.withResolvers<null>()
    for (const caller of callers) {
      void caller.then(({ status }) => {
        if (status === 503) refused += 1
        if (refused === callers.length - MAX_WAITING_VISITORS) all.resolve(null)
      })
    }
    await all.promise
    ready.resolve(null)
    const answers = await Promise.all(callers)
    const awake = answers.filter(({ status, body }) => status === 200 && body === "awake")
    expect(awake).toHaveLength(MAX_WAITING_VISITORS)
    const [other] = answers.filter(({ status }) => status === 503)
    expect([other?.headers["refresh"], other?.body]).toEqual([
      "2",
      expect.stringContaining("Too many visitors"),
    ])
    expect(site.hosting.started.slice(before)).toMatchObject([
      { publishId, companyId: site.company.companyId, isNew: false, url: `http://${site.host}/` },
    ])
    const [plan] = site.hosting.started.slice(before)
    expect(plan === undefined ? "" : await readText(plan.files())).toBe("a tar archive")
  })

  it("that starts slowly shows a page that reloads", async () => {
    const slow = await openPreviewSiteWorld()
    const publishId = slow.publishApp()
    await slow.hosting.listen(
      publishId,
      httpSocketHandler((_request, response) => response.end("awake")),
    )
    const ready = Promise.withResolvers<null>()
    slow.hosting.beforeStart = async () => void (await ready.promise)
    slow.hurry()
    const late = await slow.see("/")
    expect([late.status, late.headers["refresh"]]).toEqual([503, "2"])
    expect(late.body).toContain("<title>Starting</title>")
    ready.resolve(null)
    await expect.poll(async () => (await slow.see("/")).body).toBe("awake")
    expect(slow.hosting.started).toHaveLength(1)
    await slow.close()
  })

  it("and fails to start is shown as down, with the name of its log, and is not retried immediately", async () => {
    const publishId = site.publishApp()
    const before = site.hosting.started.length
    site.hosting.beforeStart = async () => {
      throw new AppStartFailed("it does not listen", "log")
    }
    for (let times = 0; times < 3; times += 1) {
      const { status, body, headers } = await site.see("/")
      expect([status, headers["refresh"]]).toEqual([502, undefined])
      expect(body).toContain(`publish log ${publishId}`)
    }
    expect(site.hosting.started.slice(before)).toHaveLength(1)
  })

  it("cannot be started while the host is unavailable, with a warning", async () => {
    site.publishApp()
    site.hosting.beforeStart = async () => {
      throw new ProviderUnavailable("the host is away")
    }
    const before = site.warnings.length
    const { status, headers } = await site.see("/")
    expect([status, headers["refresh"]]).toEqual([503, "2"])
    expect(site.warnings.slice(before)).toEqual([
      expect.stringContaining("a preview could not be started"),
    ])
  })

  it("has no visit once its visitor has disconnected", async () => {
    const publishId = site.publishApp()
    const [started, ready] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    site.hosting.beforeStart = async () => {
      started.resolve(null)
      await ready.promise
    }
    const outgoing = site.startRequest(site.host, { headers: { cookie: site.cookie } })
    outgoing.on("error", () => undefined)
    outgoing.end()
    await started.promise
    const over = waitUntilDrained(site.ports, publishId, new AbortController().signal)
    outgoing.destroy()
    await over
    expect(visitCount(site.ports, publishId)).toBe(0)
    ready.resolve(null)
  })
})

describe("an app that is down", () => {
  it("is not started again, and its page names the log", async () => {
    const publishId = site.publishApp()
    site.hosting.standings.set(publishId, "down")
    const before = site.hosting.started.length
    const { status, body } = await site.see("/")
    expect([status, body]).toEqual([502, expect.stringContaining(`publish log ${publishId}`)])
    expect(site.hosting.started).toHaveLength(before)
  })

  it("or does not listen shows a page that reloads", async () => {
    const publishId = site.publishApp()
    site.hosting.standings.set(publishId, "running")
    const { status, headers } = await site.see("/")
    expect([status, headers["refresh"]]).toEqual([502, "2"])
  })
})

describe("a version that is replaced", () => {
  it("completes its requests, while new ones go to the next version", async () => {
    const [received, release] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    const former = await running(
      httpSocketHandler((_request, response) => {
        received.resolve(null)
        void release.promise.then(() => response.end("former"))
      }),
    )
    const slow = site.see("/slow")
    await received.promise
    await running(httpSocketHandler((_request, response) => response.end("next")))
    expect((await site.see("/")).body).toBe("next")
    expect(visitCount(site.ports, former)).toBe(1)
    let isOver = false
    const over = waitUntilDrained(site.ports, former, new AbortController().signal).then(
      () => (isOver = true),
    )
    await site.see("/")
    expect(isOver).toBe(false)
    release.resolve(null)
    expect((await slow).body).toBe("former")
    await over
    expect(visitCount(site.ports, former)).toBe(0)
  })

  it("is no longer waited for after an abort", async () => {
    const received = Promise.withResolvers<null>()
    const former = await running(httpSocketHandler(() => received.resolve(null)))
    const outgoing = site.startRequest(site.host, { headers: { cookie: site.cookie } })
    outgoing.on("error", () => undefined)
    outgoing.end()
    await received.promise
    const waiting = new AbortController()
    const over = waitUntilDrained(site.ports, former, waiting.signal)
    waiting.abort()
    await over
    expect(visitCount(site.ports, former)).toBe(1)
    outgoing.destroy()
  })
})

describe("a long visit", () => {
  it("ends within a minute after its person signs out", async () => {
    const one = await openPreviewSiteWorld()
    const publishId = one.publishApp()
    await one.hosting.listen(
      publishId,
      httpSocketHandler((_request, response) => void response.write("started")),
    )
    one.hosting.standings.set(publishId, "running")
    const outgoing = one.startRequest(one.host, { headers: { cookie: one.cookie } })
    outgoing.end()
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    await once(answer, "data")
    const torn = once(answer, "error")
    const cookie = one.cookie.slice(PREVIEW_COOKIE_NAME.length + 1)
    expect(cookie).toHaveLength(43)
    await one.visit(one.host, {
      method: "POST",
      path: "/.preview/sign-out",
      body: "",
      headers: {
        cookie: one.cookie,
        origin: `http://${one.host}`,
        "content-type": "application/x-www-form-urlencoded",
      },
    })
    one.hurry()
    const [error] = (await torn) as [Error]
    expect(error.message).toBe("aborted")
    await one.close()
  })
})
