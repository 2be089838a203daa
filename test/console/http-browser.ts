/** A browser at the console: it keeps cookies, and says where its pages are from. */
import type { World } from "../support/world.ts"

/** An answer to a browser. */
export interface BrowserAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // A test says what it expects of a body; the type would only repeat it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** What a call is sent with instead of what a page of the console sends. */
export interface RequestOverrides {
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly bytes?: Uint8Array
}

/** A browser of somebody. */
export class HttpBrowser {
  readonly cookies = new Map<string, string>()
  readonly world: World
  readonly host: string
  constructor(world: World, host = "localhost:3000") {
    this.world = world
    this.host = host
  }

  /** Another one with the same cookies. */
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
    const own: Readonly<Record<string, string | undefined>> = {
      host: this.host,
      cookie: cookie === "" ? undefined : cookie,
      ...(method === "GET" ? {} : { origin: `http://${this.host}`, "x-console": "1" }),
      ...sent.headers,
    }
    const headers = Object.fromEntries(
      Object.entries(own).filter((one): one is [string, string] => one[1] !== undefined),
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

/** Asks for a code; answers the one that was mailed, `none` where none was. */
export async function mailedSignInCode(
  world: World,
  browser: HttpBrowser,
  email: string,
): Promise<string> {
  const mails = async () => {
    const { mails: sent } = await world.operate("mail list")
    // One that somebody else asked for may still be on its way.
    return (sent as readonly Mail[]).filter(({ to }) => to.includes(email.toLowerCase()))
  }
  const before = (await mails()).length
  const { status } = await browser.send("POST", "/console/api/code", { email })
  if (status !== 202) throw new Error(`no code can be asked for: ${status}`)
  const until = Date.now() + 10_000
  for (;;) {
    const found = (await mails()).slice(before).find(({ subject }) => /^\d{6} /.test(subject))
    if (found !== undefined) return found.subject.slice(0, 6)
    if (Date.now() > until) return "none"
  }
}

/** A browser that somebody signed in with. */
export async function signInBrowser(world: World, email: string): Promise<HttpBrowser> {
  const browser = new HttpBrowser(world)
  const code = await mailedSignInCode(world, browser, email)
  const { status } = await browser.send("POST", "/console/api/session", { code })
  if (status !== 201) throw new Error(`${email} could not sign in: ${status}`)
  return browser
}
