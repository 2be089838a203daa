/** A socket in the file system that only this user can connect to. */
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/** The longest path of a socket, bytes: what Linux takes without cutting it off. */
export const MAX_SOCKET_PATH_BYTES = 107

/**
 * Listens in a folder that only this user can enter, then moves the socket to its place: it has mode 0600
 * from the moment it has its name.
 *
 * @param listen begins to listen at a path, and resolves once it does
 * @returns what removes the socket, unless another server has put its own in the same place
 * @throws RangeError: the path is too long for a socket
 * @throws what `listen` throws, and the operating system's error
 */
export async function listenPrivately(
  socketPath: string,
  listen: (path: string) => Promise<unknown>,
): Promise<() => void> {
  const room = join(dirname(socketPath), `.${basename(socketPath, ".sock")}`)
  const hidden = join(room, "s")
  for (const path of [socketPath, hidden]) {
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
      throw new RangeError(`The path of a socket has at most 107 bytes; this is longer: ${path}`)
    }
  }
  // What a killed run left behind.
  rmSync(room, { recursive: true, force: true })
  mkdirSync(room, { mode: 0o700 })
  try {
    await listen(hidden)
    chmodSync(hidden, 0o600)
    const { ino } = lstatSync(hidden, { bigint: true })
    renameSync(hidden, socketPath)
    return () => {
      const found = lstatSync(socketPath, { bigint: true, throwIfNoEntry: false })
      if (found?.ino === ino) unlinkSync(socketPath)
    }
  } finally {
    rmSync(room, { recursive: true, force: true })
  }
}
