import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A folder for a database: one that is kept, or a new one that `remove` takes away with all in it. */
export async function folderFor(
  keptIn: string | null,
): Promise<{ readonly dataDir: string; readonly remove: () => Promise<void> }> {
  if (keptIn !== null) return { dataDir: keptIn, remove: async () => undefined }
  const dataDir = await mkdtemp(join(tmpdir(), "ledger-bench-"))
  return { dataDir, remove: () => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }) }
}
