/** Versions of an app that sleep, fail or are replaced while somebody is at them. */
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

const at = await ownPreviewSiteWorld()
afterEach(() => {
  at.hosting.beforeStart = async () => undefined
})

const running = at.runApp

describe("an app that sleeps", () => {
  it("is started once for all who come, of whom so many wait", async () => {
    const publishId = at.publishApp()
    await at.hosting.listen(
      publishId,
      httpSocketHandler((_request, response) => response.end("awake")),
    )
    const [begun, ready] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    const before = at.hosting.started.length
    at.hosting.beforeStart = async () => {
      begun.resolve(null)
      await ready.promise
    }
    const callers = Array.from({ length: 200 }, () => at.see("/"))
    await begun.promise
    // Those that cannot wait are answered at once.
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
    expect(at.hosting.started.slice(before)).toMatchObject([
      { publishId, companyId: at.company.companyId, isNew: false, url: `http://${at.host}/` },
    ])
    const [plan] = at.hosting.started.slice(before)
    expect(plan === undefined ? "" : await readText(plan.files())).toBe("a tar archive")
  })

  it("is looked for again by a page where it takes long", async () => {
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

  it("and does not come up is shown as down, with the name of its log, and not tried at once again", async () => {
    const publishId = at.publishApp()
    const before = at.hosting.started.length
    at.hosting.beforeStart = async () => {
      throw new AppStartFailed("it does not listen", "log")
    }
    for (let times = 0; times < 3; times += 1) {
      const { status, body, headers } = await at.see("/")
      expect([status, headers["refresh"]]).toEqual([502, undefined])
      expect(body).toContain(`publish log ${publishId}`)
    }
    expect(at.hosting.started.slice(before)).toHaveLength(1)
  })

  it("cannot be started where the host is away, which is told", async () => {
    at.publishApp()
    at.hosting.beforeStart = async () => {
      throw new ProviderUnavailable("the host is away")
    }
    const before = at.warnings.length
    const { status, headers } = await at.see("/")
    expect([status, headers["refresh"]]).toEqual([503, "2"])
    expect(at.warnings.slice(before)).toEqual([
      expect.stringContaining("a preview could not be started"),
    ])
  })

  it("is not started for who has left by then, nor again for who comes next", async () => {
    const publishId = at.publishApp()
    const [begun, ready] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    at.hosting.beforeStart = async () => {
      begun.resolve(null)
      await ready.promise
    }
    const asked = at.startRequest(at.host, { headers: { cookie: at.cookie } })
    asked.on("error", () => undefined)
    asked.end()
    await begun.promise
    const over = waitUntilDrained(at.ports, publishId, new AbortController().signal)
    asked.destroy()
    await over
    expect(visitCount(at.ports, publishId)).toBe(0)
    ready.resolve(null)
  })
})

describe("an app that is down", () => {
  it("is not started again, and its page names the log", async () => {
    const publishId = at.publishApp()
    at.hosting.standings.set(publishId, "down")
    const before = at.hosting.started.length
    const { status, body } = await at.see("/")
    expect([status, body]).toEqual([502, expect.stringContaining(`publish log ${publishId}`)])
    expect(at.hosting.started).toHaveLength(before)
  })

  it("or does not listen is looked for again", async () => {
    const publishId = at.publishApp()
    at.hosting.standings.set(publishId, "running")
    const { status, headers } = await at.see("/")
    expect([status, headers["refresh"]]).toEqual([502, "2"])
  })
})

describe("a version that is replaced", () => {
  it("goes on with what it has begun, while what comes is the next one's", async () => {
    const [came, go] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()]
    const former = await running(
      httpSocketHandler((_request, response) => {
        came.resolve(null)
        void go.promise.then(() => response.end("former"))
      }),
    )
    const slow = at.see("/slow")
    await came.promise
    await running(httpSocketHandler((_request, response) => response.end("next")))
    expect((await at.see("/")).body).toBe("next")
    expect(visitCount(at.ports, former)).toBe(1)
    let isOver = false
    const over = waitUntilDrained(at.ports, former, new AbortController().signal).then(
      () => (isOver = true),
    )
    await at.see("/")
    expect(isOver).toBe(false)
    go.resolve(null)
    expect((await slow).body).toBe("former")
    await over
    expect(visitCount(at.ports, former)).toBe(0)
  })

  it("is waited for until it is said that it was long enough", async () => {
    const came = Promise.withResolvers<null>()
    const former = await running(httpSocketHandler(() => came.resolve(null)))
    const asked = at.startRequest(at.host, { headers: { cookie: at.cookie } })
    asked.on("error", () => undefined)
    asked.end()
    await came.promise
    const long = new AbortController()
    const over = waitUntilDrained(at.ports, former, long.signal)
    long.abort()
    await over
    expect(visitCount(at.ports, former)).toBe(1)
    asked.destroy()
  })
})

describe("somebody who stays for long", () => {
  it("leaves once they are signed out, by the next minute", async () => {
    const one = await openPreviewSiteWorld()
    const publishId = one.publishApp()
    await one.hosting.listen(
      publishId,
      httpSocketHandler((_request, response) => void response.write("begun")),
    )
    one.hosting.standings.set(publishId, "running")
    const asked = one.startRequest(one.host, { headers: { cookie: one.cookie } })
    asked.end()
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
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
