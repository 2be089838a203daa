/**
 * Stores the artifact of a publish as two blobs: the content, and a manifest. Of a static site only regular
 * files are stored, because a build may be hostile; an app's archive is unpacked only in its own sandbox.
 */
import { createHash } from "node:crypto"
import type { Header } from "tar-stream"
import { extract } from "tar-stream"
import { z } from "zod"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import { BlobExists } from "../../adapters/postgres/blobs/port.ts"
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { Ports } from "../frame/ports.ts"

/** A file of a static site. */
export interface ArtifactFile {
  /** Offset of its bytes in the artifact's content. */
  readonly from: number
  /** In bytes. */
  readonly size: number
  /** SHA-256 of its bytes, hexadecimal. */
  readonly hash: string
}

/** Manifest of an artifact. The content is the concatenated files of a static site, or the tar archive of an app. */
export interface ArtifactManifest {
  readonly recipe: Recipe
  /** By path, such as `about/index.html`; null for an app. */
  readonly files: ReadonlyMap<string, ArtifactFile> | null
}

const MEBIBYTE = 1024 * 1024
const LIMITS = { files: 20_000, fileBytes: 100 * MEBIBYTE, bytes: 500 * MEBIBYTE } as const

/** Enough for 20,000 files with long names. */
const MAX_MANIFEST_BYTES = 100 * MEBIBYTE

/** The build's result cannot be stored; the message tells people why. */
export class BadArtifact extends Error {
  override readonly name = "BadArtifact"
}

export interface StoredArtifact {
  /** SHA-256 of its manifest, hexadecimal. */
  readonly hash: string
  readonly files: number
  readonly bytes: number
  /** Names of entries that were skipped: links, and others that are not files. */
  readonly leftOut: readonly string[]
}

export interface Artifact {
  readonly manifest: ArtifactManifest
  readonly content: Blob
}

const contentBlobId = (publishId: PublishId): string => `${publishId}-content`
const manifestBlobId = (publishId: PublishId): string => `${publishId}-manifest`

/**
 * Stores an artifact. It overwrites what a process that died has left.
 *
 * @param tar the archive from the build
 * @throws BadArtifact; CompanyErased
 */
export async function storeArtifact(
  ports: Pick<Ports, "blobs">,
  { companyId, publishId, recipe }: ArtifactRef & { readonly recipe: Recipe },
  tar: AsyncIterable<Uint8Array>,
): Promise<StoredArtifact> {
  const of = { companyId, publishId }
  await removeArtifact(ports, of)
  const found =
    recipe.serves.kind === "static"
      ? await writeSite(ports, of, tar)
      : await writeArchive(ports, of, tar)
  const { files, hash: contentHash, bytes, leftOut } = found
  const saved = { recipe, contentHash, files: files === null ? null : [...files] }
  const json = Buffer.from(JSON.stringify(saved))
  await writeBlob(ports, of, manifestBlobId(publishId), pieces(json), MAX_MANIFEST_BYTES)
  const hash = createHash("sha256").update(json).digest("hex")
  return { hash, files: files?.size ?? 1, bytes, leftOut }
}

interface ArtifactRef {
  readonly companyId: CompanyId
  readonly publishId: PublishId
}

interface WrittenArtifact {
  readonly files: ArtifactManifest["files"]
  /** SHA-256 of all content, hexadecimal. */
  readonly hash: string
  readonly bytes: number
  readonly leftOut: readonly string[]
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function writeBlob(
  { blobs }: Pick<Ports, "blobs">,
  { companyId }: ArtifactRef,
  blobId: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<void> {
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId }
  try {
    await blobs.write(blob, source, { maxBytes })
  } catch (error) {
    // Another process that also has this job wrote the blob at this moment.
    if (!(error instanceof BlobExists)) throw error
    throw new Error(`${blobId} was written by two processes concurrently`, { cause: error })
  }
}

async function writeArchive(
  ports: Pick<Ports, "blobs">,
  of: ArtifactRef,
  tar: AsyncIterable<Uint8Array>,
): Promise<WrittenArtifact> {
  const hashed = createHash("sha256")
  let bytes = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of tar) {
      bytes += piece.length
      if (bytes > LIMITS.bytes) throw tooLarge()
      hashed.update(piece)
      yield piece
    }
  }
  await writeBlob(ports, of, contentBlobId(of.publishId), counted(), LIMITS.bytes)
  return { files: null, hash: hashed.digest("hex"), bytes, leftOut: [] }
}

const tooLarge = (): BadArtifact =>
  new BadArtifact(`The build's output is larger than ${LIMITS.bytes / MEBIBYTE} MiB, the limit.`)

async function writeSite(
  ports: Pick<Ports, "blobs">,
  of: ArtifactRef,
  tar: AsyncIterable<Uint8Array>,
): Promise<WrittenArtifact> {
  const files = new Map<string, ArtifactFile>()
  const leftOut: string[] = []
  const all = createHash("sha256")
  let bytes = 0
  async function* contents(): AsyncGenerator<Uint8Array> {
    for await (const { header, content } of entriesOf(tar)) {
      const path = sitePathOf(header, files)
      if (path === null) {
        if (header.type !== "directory" && leftOut.length < 100) leftOut.push(header.name)
        continue
      }
      if (files.size >= LIMITS.files)
        throw new BadArtifact(`The site has more than ${LIMITS.files} files, the limit.`)
      const hashed = createHash("sha256")
      const from = bytes
      for await (const piece of content) {
        bytes += piece.length
        if (bytes > LIMITS.bytes) throw tooLarge()
        if (bytes - from > LIMITS.fileBytes) {
          throw new BadArtifact(
            `${path} is larger than ${LIMITS.fileBytes / MEBIBYTE} MiB, the limit.`,
          )
        }
        hashed.update(piece)
        all.update(piece)
        yield piece
      }
      files.set(path, { from, size: bytes - from, hash: hashed.digest("hex") })
    }
    if (files.size === 0) throw new BadArtifact("The site's folder has no files.")
  }
  await writeBlob(ports, of, contentBlobId(of.publishId), contents(), LIMITS.bytes)
  return { files, hash: all.digest("hex"), bytes, leftOut }
}

interface TarEntry {
  readonly header: Header
  readonly content: AsyncIterable<Uint8Array>
}

/** Reads the entries of an archive. @throws BadArtifact if it is not an archive; the errors of its source */
async function* entriesOf(tar: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = extract()
  let fault: unknown = null
  const fed = feed(tar, reader).catch((error: unknown) => {
    fault = error
    // Passes the error to the reader of the current entry.
    reader.destroy(error as Error)
  })
  try {
    for await (const entry of reader) {
      yield { header: entry.header, content: entry as AsyncIterable<Uint8Array> }
      // Skips the content that the consumer did not read.
      entry.resume()
    }
  } catch (error) {
    throw (
      fault ??
      new BadArtifact(`The build's output is not a tar archive: ${(error as Error).message}`)
    )
  } finally {
    reader.destroy()
    await fed
  }
  if (fault !== null) throw fault
}

async function feed(
  tar: AsyncIterable<Uint8Array>,
  reader: ReturnType<typeof extract>,
): Promise<void> {
  for await (const piece of tar) {
    if (reader.destroyed) return
    if (!reader.write(piece)) await waitForDrain(reader)
  }
  reader.end(null)
}

/** Resolves when the reader has room for the next piece, or is closed. */
function waitForDrain(reader: ReturnType<typeof extract>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      reader.off("drain", done)
      reader.off("close", done)
      resolve()
    }
    reader.on("drain", done)
    reader.on("close", done)
  })
}

const MAX_NAME = 1_000

/** The path of a file in the manifest; null for an entry that is not a file or has no valid path. */
function sitePathOf({ name, type }: Header, files: ReadonlyMap<string, unknown>): string | null {
  if (type !== "file" && type !== "contiguous-file") return null
  const path = name.replace(/^(?:\.\/)+/, "")
  const isPlain = path.split("/").every((part) => !/^\.{0,2}$/.test(part))
  return isPlain && path.length <= MAX_NAME && !files.has(path) ? path : null
}

const SavedManifest = z.object({
  recipe: z.custom<Recipe>((value) => typeof value === "object"),
  files: z
    .array(z.tuple([z.string(), z.object({ from: z.int(), size: z.int(), hash: z.string() })]))
    .nullable(),
})

/** Opens an artifact; null if it does not exist (any more). @throws BlobCorrupt */
export async function openArtifact(
  { blobs }: Pick<Ports, "blobs">,
  companyId: CompanyId,
  publishId: PublishId,
): Promise<Artifact | null> {
  const manifest = await blobs.find(companyId, manifestBlobId(publishId))
  const content = await blobs.find(companyId, contentBlobId(publishId))
  if (manifest === null || content === null) return null
  const parts: Buffer[] = []
  for await (const piece of manifest.read()) parts.push(piece)
  const { recipe, files } = SavedManifest.parse(JSON.parse(Buffer.concat(parts).toString("utf8")))
  return { manifest: { recipe, files: files === null ? null : new Map(files) }, content }
}

/** Deletes an artifact, if it exists. */
export async function removeArtifact(
  { blobs }: Pick<Ports, "blobs">,
  { companyId, publishId }: ArtifactRef,
): Promise<void> {
  // The manifest first: without it the artifact does not exist.
  await blobs.delete(companyId, manifestBlobId(publishId))
  await blobs.delete(companyId, contentBlobId(publishId))
}
