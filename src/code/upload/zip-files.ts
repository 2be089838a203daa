/**
 * The files of a zip, looked at before any of it is used: nothing is unpacked to a disk, so a name can
 * reach no place, and what it says of its sizes is held to while it is read.
 */
import { crc32 } from "node:zlib"
import type { Entry, ZipFile } from "yauzl"
import { openPromise } from "yauzl"

const MIB = 1024 * 1024
const MAX_FILES = 100_000
const MAX_FILE_BYTES = 256 * MIB
const MAX_TOTAL_BYTES = 2_048 * MIB
const MAX_PATH_BYTES = 4_096
/** What the reader says where a file does not end as every zip does; it has no code for it. */
const NO_END = "End of central directory record signature not found"

/** A file in a zip. */
export interface ZippedFile {
  /** With slashes, from the top of the zip. */
  readonly path: string
  readonly isExecutable: boolean
  /** Unpacked, bytes. */
  readonly size: number
  /** Its bytes; may be asked for again. @throws BadZip where they are not what the zip says of them */
  readonly read: () => AsyncIterable<Uint8Array>
}

/** It is no zip, or one that is not taken; a sentence says why. */
export class BadZip extends Error {
  override readonly name = "BadZip"
}

/**
 * Opens a zip and has its files looked at by `use`.
 *
 * @param path the operating system's errors of it are thrown as they are
 * @throws BadZip; what `use` throws
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
  if (zip.entryCount > MAX_FILES) throw new BadZip(`it holds more than ${MAX_FILES} files`)
  const files: ZippedFile[] = []
  let bytes = 0
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith("/")) continue
      checkKind(entry)
      checkName(entry.fileName)
      bytes += entry.uncompressedSize
      if (entry.uncompressedSize > MAX_FILE_BYTES) {
        throw new BadZip(`${entry.fileName} has more than 256 MiB unpacked`)
      }
      if (bytes > MAX_TOTAL_BYTES) throw new BadZip("it holds more than 2 GiB unpacked")
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

/** The mode of a file, where the zip was made by a system that has one; else 0. */
function unixMode({ versionMadeBy, externalFileAttributes }: Entry): number {
  const [unix, macos] = [3, 19]
  const system = versionMadeBy >>> 8
  return system === unix || system === macos ? externalFileAttributes >>> 16 : 0
}

/** @throws BadZip for links, devices, and what cannot be read */
function checkKind(entry: Entry): void {
  const type = unixMode(entry) & 0o170_000
  if (type === 0o120_000) throw new BadZip(`${entry.fileName} is a link: only files are taken`)
  if (type !== 0 && type !== 0o100_000) throw new BadZip(`${entry.fileName} is no file`)
  if (entry.isEncrypted()) throw new BadZip(`${entry.fileName} is encrypted`)
  if (!entry.canDecodeFileData()) {
    throw new BadZip(`${entry.fileName} is packed in a way that is not known here`)
  }
}

/** @throws BadZip for names that reach elsewhere, or into the repository's own folder */
function checkName(path: string): void {
  const parts = path.split("/")
  const odd = parts.find((part) => part === "" || part === "." || part === ".." || isGit(part))
  if (odd !== undefined && isGit(odd)) {
    throw new BadZip(`${path} lies in a folder ${odd}: leave it out of the zip`)
  }
  if (path.includes("\ufffd")) throw new BadZip(`${path.slice(0, 200)} is a name that is no UTF-8`)
  const isTooLong = Buffer.byteLength(path) > MAX_PATH_BYTES
  if (odd !== undefined || isTooLong || path.includes("\0")) {
    throw new BadZip(`${path.slice(0, 200)} is no name of a file in a folder`)
  }
}

const isGit = (part: string): boolean => part.toLowerCase() === ".git"

/** @throws BadZip where it holds none, one twice, or a file where another has a folder */
function checkPaths(files: readonly ZippedFile[]): void {
  if (files.length === 0) throw new BadZip("it holds no files")
  const paths = new Set(files.map(({ path }) => path))
  if (paths.size < files.length) throw new BadZip("it holds a file twice")
  for (const path of paths) {
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const above = path.slice(0, at)
      if (paths.has(above)) throw new BadZip(`${above} is a file and a folder in it`)
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
  if (sum !== entry.crc32) throw new BadZip(`${entry.fileName} was damaged`)
}

/** What the reader says of a zip as a fault of the zip; the operating system's errors stay. */
function toBadZip(error: unknown): unknown {
  if (error instanceof BadZip || !(error instanceof Error) || "syscall" in error) return error
  if (error.message.startsWith(NO_END)) {
    return new BadZip("it is no zip file, or was cut short", { cause: error })
  }
  const why = error.message.replace(/\.$/, "")
  return new BadZip(`it cannot be read as a zip: ${why}`, { cause: error })
}
