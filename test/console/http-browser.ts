/** A browser of the console over HTTP: it stores cookies and sends the headers of the console's pages. */
import type { World } from "../support/world.ts"

export interface BrowserAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // Each test asserts the shape of the body.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** Replaces parts of the request that a page of the console would send. */
export interface RequestOverrides {
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly bytes?: Uint8Array
}

/** A browser that stores cookies. */
export class HttpBrowser {
  readonly cookies = new Map<string, string>()
  readonly world: World
  readonly host: string
  constructor(world: World, host = "localhost:3000") {
    this.world = world
    this.host = host
  }

  /** A second browser with the same cookies. */
  copy(): HttpBrowser {
    const other = new HttpBrowser(this.world, this.host)
    for (const [name, value] of this.cookies) other.cookies.set(name, value)
    return other
  }

  get(url: string, sent: RequestOverrides = {}): Promise<BrowserAnswer> {
    return this.send("GET", url, undefined, sent)
  }

  async send(
    method: string,
    url: string,
    body?: object,
    sent: RequestOverrides = {},
  ): Promise<BrowserAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const merged: Readonly<Record<string, string | undefined>> = {
      host: this.host,
      cookie: cookie === "" ? undefined : cookie,
      ...(method === "GET" ? {} : { origin: `http://${this.host}`, "x-console": "1" }),
      ...sent.headers,
    }
    const headers = Object.fromEntries(
      Object.entries(merged).filter((one): one is [string, string] => one[1] !== undefined),
    )
    const payload = sent.bytes === undefined ? body : Buffer.from(sent.bytes)
    const answer = await this.world.app.inject({
      method: method as "GET",
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    for (const { name, value } of answer.cookies) {
      if (value === "") this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const isJson = String(answer.headers["content-type"]).startsWith("application/json")
    const status = answer.statusCode
    return { status, headers: answer.headers, body: isJson ? answer.json() : answer.body }
  }
}

interface Mail {
  readonly to: readonly string[]
  readonly subject: string
}

/** Requests a sign-in code; returns the mailed code, or `none` if no mail arrives within ten seconds. */
export async function mailedSignInCode(
  world: World,
  browser: HttpBrowser,
  email: string,
): Promise<string> {
  const mails = async () => {
    const { mails: sent } = await world.operate("mail list")
    // A code that another test requested may still be on its way.
    return (sent as readonly Mail[]).filter(({ to }) => to.includes(email.toLowerCase()))
  }
  const before = (await mails()).length
  const { status } = await browser.send("POST", "/console/api/code", { email })
  if (status !== 202) throw new Error(`the code request was rejected: ${status}`)
  const until = Date.now() + 10_000
  for (;;) {
    const found = (await mails()).slice(before).find(({ subject }) => /^\d{6} /.test(subject))
    if (found !== undefined) return found.subject.slice(0, 6)
    if (Date.now() > until) return "none"
  }
}

/** Signs a person in by a mailed code; returns their browser. */
export async function signInBrowser(world: World, email: string): Promise<HttpBrowser> {
  const browser = new HttpBrowser(world)
  const code = await mailedSignInCode(world, browser, email)
  const { status } = await browser.send("POST", "/console/api/session", { code })
  if (status !== 201) throw new Error(`${email} could not sign in: ${status}`)
  return browser
}
