/** Where a keeper meets the program that launches it, and what it says there: a line each. */
import { once } from "node:events"
import { chmod } from "node:fs/promises"
import { type Socket, createServer } from "node:net"
import { createInterface } from "node:readline"
import { z } from "zod"
import { CannotLaunch } from "./settings.ts"

/** Of what a keeper says nothing is believed but its form. */
const newsForm = z.discriminatedUnion("step", [
  z.strictObject({ step: z.literal("firewall"), by: z.enum(["nft", "ip"]).nullable() }),
  z.strictObject({ step: z.literal("ready"), firstProcess: z.int().positive() }),
  z.strictObject({ step: z.literal("failed"), why: z.string().max(10_000) }),
])

type News = z.infer<typeof newsForm>

/** Where the keeper meets this program. */
export async function meetingPlace(path: string): Promise<Meeting> {
  const server = createServer()
  // Looked for from the beginning: the keeper may be there before anybody asks for it.
  const came = new Promise<Socket>((resolve) => server.once("connection", resolve))
  server.listen(path)
  await once(server, "listening")
  await chmod(path, 0o777)
  return { came, close: () => void server.close() }
}

/** A keeper that is expected. */
export interface Meeting {
  readonly came: Promise<Socket>
  readonly close: () => void
}

/** What the keeper says, a line each. @throws CannotLaunch where that is what no keeper says */
export async function* newsOf(socket: Socket): AsyncGenerator<News, void> {
  for await (const line of createInterface(socket)) {
    const news = newsForm.safeParse(jsonOf(line))
    if (!news.success) throw new CannotLaunch("the keeper said what no keeper says")
    yield news.data
  }
}

/** The next that it says. @throws CannotLaunch where that is that it failed, or nothing */
export async function next(news: AsyncGenerator<News, void>): Promise<News> {
  const { value } = await news.next()
  if (value === undefined) throw new CannotLaunch("the keeper ended as it began")
  if (value.step === "failed") throw new CannotLaunch(value.why)
  return value
}

/** What words are as JSON; null where they are none. */
export function jsonOf(words: string): unknown {
  try {
    return JSON.parse(words)
  } catch {
    return null
  }
}
