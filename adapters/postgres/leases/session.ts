/**
 * The connection that stands for a process. What the process holds by a lock of this session is held
 * while the connection lasts, and is let go by the server when it ends.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { DatabaseWatch } from "../watch.ts"

const AGAIN_FIRST_MS = 50
const AGAIN_MOST_MS = 1_000
/** A connection that does not answer for so long is taken for lost. */
const ANSWER_MS = 5_000

/**
 * Others wait for the locks of a machine that vanished: the server notices it within ten seconds,
 * where it would take two hours by itself.
 */
const KEEPALIVE = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"

/** What a session tells its owner. */
export interface SessionOwner {
  /** Takes the locks and whatever else a new connection needs. @throws when it cannot */
  readonly begin: (client: pg.Client) => Promise<void>
  /** The connection was made anew. */
  readonly onBack: () => void
  /** The connection was lost, and all that it held. It is made anew by itself. */
  readonly onLost: () => void
  readonly onCall: (name: string, text: string) => void
  readonly warn: (message: string, error: unknown) => void
  /** What watches over the database, where anything does. */
  readonly watch: DatabaseWatch | null
}

/** A session that connects again whenever it is lost. */
export interface Session {
  /** The connection; null while there is none. */
  readonly client: () => pg.Client | null
  /** Gives a connection up that does not do what it should. */
  readonly drop: (client: pg.Client, error: Error) => void
  /** Ends it after some last words. */
  readonly close: (leave: (client: pg.Client) => Promise<void>) => Promise<void>
}

/** Opens a session. @throws the driver's error where the first connection fails */
export async function openSession(url: string, owner: SessionOwner): Promise<Session> {
  const closing = new AbortController()
  let current: pg.Client | null = null
  let again: Promise<void> = Promise.resolve()

  const lose = (client: pg.Client, error: Error): void => {
    if (current !== client) return
    current = null
    void client.end()
    owner.onLost()
    if (closing.signal.aborted) return
    owner.warn("the connection that says this process lives was lost", error)
    again = connectAgain()
  }

  const open = async (): Promise<void> => {
    const client = await connected(url, owner, lose)
    current = client
  }

  const connectAgain = async (): Promise<void> => {
    for (let waitMs = AGAIN_FIRST_MS; ; waitMs = Math.min(2 * waitMs, AGAIN_MOST_MS)) {
      await pause(waitMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        await open()
        owner.onBack()
        return
      } catch (error) {
        owner.warn("the connection that says this process lives could not be made anew", error)
      }
    }
  }

  await open()
  return {
    client: () => current,
    drop: lose,
    close: async (leave) => {
      closing.abort()
      await again
      const client = current
      if (client === null) return
      await leave(client)
      current = null
      await client.end()
    },
  }
}

/** A connection on which the owner has begun. */
async function connected(
  url: string,
  owner: SessionOwner,
  lose: (client: pg.Client, error: Error) => void,
): Promise<pg.Client> {
  owner.watch?.mustAnswer()
  const Client = owner.watch?.kind({ answerMs: null, isPooled: false }) ?? pg.Client
  const client = new Client({
    connectionString: url,
    application_name: "company-ledger process",
    options: KEEPALIVE,
    keepAlive: true,
    query_timeout: ANSWER_MS,
    connectionTimeoutMillis: ANSWER_MS,
  })
  // Until it counts as the process's connection, whoever waits for it is told by what he waits for.
  client.on("error", (error) => lose(client, error))
  client.on("end", () => lose(client, new Error("the connection ended")))
  client.on("notification", ({ channel, payload = "" }) => owner.onCall(channel, payload))
  try {
    await client.connect()
    await owner.begin(client)
    return client
  } catch (error) {
    void client.end()
    throw error
  }
}
