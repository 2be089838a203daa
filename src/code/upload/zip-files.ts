/**
 * Reads the files of a zip after checking all of them. Nothing is unpacked to disk, so no name can escape, and
 * the stated sizes are enforced while reading.
 */
import { crc32 } from "node:zlib"
import type { Entry, ZipFile } from "yauzl"
import { openPromise } from "yauzl"

const MIB = 1024 * 1024
const MAX_FILES = 100_000
const MAX_FILE_BYTES = 256 * MIB
const MAX_TOTAL_BYTES = 2_048 * MIB
const MAX_PATH_BYTES = 4_096
/** Message of the zip reader for a missing end record; it has no error code. */
const NO_END = "End of central directory record signature not found"

export interface ZippedFile {
  /** Path from the top of the zip, with slashes. */
  readonly path: string
  readonly isExecutable: boolean
  /** Unpacked size in bytes. */
  readonly size: number
  /** The bytes; can be called again. @throws BadZip if they do not match the zip's checksum */
  readonly read: () => AsyncIterable<Uint8Array>
}

/** The file is not a zip, or is not acceptable; the message says why. */
export class BadZip extends Error {
  override readonly name = "BadZip"
}

/**
 * Opens a zip and passes its files to `use`.
 *
 * @param path file errors of the operating system are thrown unchanged
 * @throws BadZip; the errors of `use`
 */
export async function withZip<T>(
  path: string,
  use: (files: readonly ZippedFile[]) => Promise<T>,
): Promise<T> {
  const zip = await openPromise(path, { autoClose: false }).catch((error: unknown) => {
    throw toBadZip(error)
  })
  try {
    return await use(await filesOf(zip))
  } finally {
    zip.close()
  }
}

async function filesOf(zip: ZipFile): Promise<readonly ZippedFile[]> {
  if (zip.entryCount > MAX_FILES)
    throw new BadZip(`it has ${zip.entryCount} entries; the limit is ${MAX_FILES}`)
  const files: ZippedFile[] = []
  let bytes = 0
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith("/")) continue
      checkKind(entry)
      checkName(entry.fileName)
      bytes += entry.uncompressedSize
      if (entry.uncompressedSize > MAX_FILE_BYTES) {
        throw new BadZip(
          `${entry.fileName} is ${entry.uncompressedSize} bytes unpacked; the limit is 256 MiB`,
        )
      }
      if (bytes > MAX_TOTAL_BYTES)
        throw new BadZip("its files are more than 2 GiB unpacked, which is the limit")
      files.push({
        path: entry.fileName,
        isExecutable: (unixMode(entry) & 0o111) !== 0,
        size: entry.uncompressedSize,
        read: () => contentOf(zip, entry),
      })
    }
  } catch (error) {
    throw toBadZip(error)
  }
  checkPaths(files)
  return files
}

/** The Unix mode of a file; 0 if the zip was made by another system. */
function unixMode({ versionMadeBy, externalFileAttributes }: Entry): number {
  const [unix, macos] = [3, 19]
  const system = versionMadeBy >>> 8
  return system === unix || system === macos ? externalFileAttributes >>> 16 : 0
}

/** Checks that an entry is a readable file. @throws BadZip */
function checkKind(entry: Entry): void {
  const type = unixMode(entry) & 0o170_000
  if (type === 0o120_000) throw new BadZip(`${entry.fileName} is a link; only files are accepted`)
  if (type !== 0 && type !== 0o100_000) throw new BadZip(`${entry.fileName} is not a regular file`)
  if (entry.isEncrypted()) throw new BadZip(`${entry.fileName} is encrypted`)
  if (!entry.canDecodeFileData()) {
    throw new BadZip(`${entry.fileName} uses an unsupported compression method`)
  }
}

/** Checks that a name stays inside the repository and outside `.git`. @throws BadZip */
function checkName(path: string): void {
  const parts = path.split("/")
  const odd = parts.find((part) => part === "" || part === "." || part === ".." || isGit(part))
  if (odd !== undefined && isGit(odd)) {
    throw new BadZip(`${path} is in a folder ${odd}: remove the folder from the zip`)
  }
  if (path.includes("\ufffd")) throw new BadZip(`${path.slice(0, 200)} is a name that is not UTF-8`)
  const isTooLong = Buffer.byteLength(path) > MAX_PATH_BYTES
  if (odd !== undefined || isTooLong || path.includes("\0")) {
    throw new BadZip(`${path.slice(0, 200)} is not a valid path of a file`)
  }
}

const isGit = (part: string): boolean => part.toLowerCase() === ".git"

/** Checks for at least one file, duplicates, and files that are also folders. @throws BadZip */
function checkPaths(files: readonly ZippedFile[]): void {
  if (files.length === 0) throw new BadZip("it has no files")
  const paths = new Set(files.map(({ path }) => path))
  if (paths.size < files.length) throw new BadZip("it has the same file twice")
  for (const path of paths) {
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const above = path.slice(0, at)
      if (paths.has(above)) throw new BadZip(`${above} is both a file and a folder in it`)
    }
  }
}

async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  let sum = 0
  try {
    const stream = await zip.openReadStreamPromise(entry)
    for await (const piece of stream as AsyncIterable<Buffer>) {
      sum = crc32(piece, sum)
      yield piece
    }
  } catch (error) {
    throw toBadZip(error)
  }
  if (sum !== entry.crc32) throw new BadZip(`${entry.fileName} is corrupt`)
}

/** Turns errors of the zip reader into `BadZip`; errors of the operating system stay. */
function toBadZip(error: unknown): unknown {
  if (error instanceof BadZip || !(error instanceof Error) || "syscall" in error) return error
  if (error.message.startsWith(NO_END)) {
    return new BadZip("it is not a zip file, or is truncated", { cause: error })
  }
  const why = error.message.replace(/\.$/, "")
  return new BadZip(`it cannot be read as a zip: ${why}`, { cause: error })
}
