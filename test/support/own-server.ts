import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import { makeTemplate } from "./postgres.ts"

/** A PostgreSQL of a test file's own, with the template that `testDatabase` copies. */
export interface OwnServer {
  /** The superuser's address of it. */
  readonly url: string
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts a PostgreSQL for tests of what depends on all databases of a server, or holds them up: an
 * erasure waits for the transactions of each, and the files it looks through are everybody's.
 */
export async function openServer(): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "ledger-server-"))
  const postgres = await startEmbedded({
    dataDir,
    log: (sentence) => console.warn(sentence),
    // A short log: an erasure writes all of it anew, and those who look for what is left read it.
    settings: { fsync: "off", max_wal_size: "48MB", min_wal_size: "32MB" },
  })
  await makeTemplate(postgres.url)
  return {
    url: postgres.url,
    close: async () => {
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}
