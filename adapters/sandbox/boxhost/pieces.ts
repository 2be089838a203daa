/** A file out of a sandbox, in pieces: it may be larger than memory should hold. */
import { DROP, PIECE } from "./code-scripts.ts"
import type { Box } from "./port.ts"
import { CodeTorn } from "./port.ts"

/** A piece is held in memory. */
const PIECE_BYTES = 8 * 1024 * 1024
const WITHIN_MS = 600_000

/**
 * Reads a file that a sandbox said to have so many bytes, and takes it away.
 *
 * @throws CodeTorn where it has fewer; what `Box.run` does
 */
export async function* piecesOf(
  box: Box,
  path: string,
  bytes: number,
): AsyncGenerator<Uint8Array, void> {
  const run = (script: string, args: readonly string[], mostBytes: number) =>
    box.run(["sh", "-c", script, "sh", path, ...args], {
      cwd: "/",
      timeoutMs: WITHIN_MS,
      mostBytes,
      activity: false,
    })
  try {
    for (let at = 0; at < bytes;) {
      const most = Math.min(PIECE_BYTES, bytes - at)
      const { exitCode, stdout } = await run(PIECE, [String(at), String(most)], most)
      if (exitCode !== 0 || stdout.length === 0 || stdout.length > most) {
        throw new CodeTorn(`the file of ${box.boxId} ended at ${at} of ${bytes} bytes`)
      }
      at += stdout.length
      yield stdout
    }
  } finally {
    await run(DROP, [], 0)
  }
}
