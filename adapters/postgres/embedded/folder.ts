import {
  chmod,
  mkdir,
  open,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  unlink,
} from "node:fs/promises"
import { join, resolve } from "node:path"
import { StartupFault, errorCode, withStartupFaults } from "../../machine/startup/port.ts"

/** PostgreSQL stores paths in 1,024 bytes and appends file names. */
const MAX_CLUSTER_PATH_BYTES = 900

/** How to connect to the cluster. */
export interface ClusterCredentials {
  readonly password: string
  /** The last port; the next start uses it again if it is free. */
  readonly port: number
}

/**
 * Creates the data folder if it is missing (mode 0700), and removes files that an interrupted first
 * start left. Throws a `StartupFault` if the folder cannot be used.
 */
export async function openEmbeddedFolder(dataDir: string): Promise<EmbeddedFolder> {
  const requested = resolve(dataDir)
  return withStartupFaults(requested, async () => {
    await mkdir(requested, { recursive: true, mode: 0o700 })
    const real = await realpath(requested)
    const cluster = join(real, "postgres")
    const bytes = Buffer.byteLength(cluster)
    if (bytes > MAX_CLUSTER_PATH_BYTES) {
      throw new StartupFault(
        `The path ${cluster} is ${bytes} bytes; PostgreSQL's limit is ` +
          `${MAX_CLUSTER_PATH_BYTES}. Set LEDGER_DATA_DIR to a shorter path.`,
      )
    }
    const folder = {
      dataDir: real,
      clusterDir: cluster,
      credentialsFile: join(real, "postgres.json"),
      logFile: join(real, "postgres.log"),
    }
    await removeTemporaryFiles(folder)
    return folder
  })
}

/** The prefix of files that are created next to the cluster and then renamed or removed. */
export function temporaryPrefix(folder: EmbeddedFolder): string {
  return `${folder.clusterDir}.new-`
}

async function removeTemporaryFiles(folder: EmbeddedFolder): Promise<void> {
  for (const name of await readdir(folder.dataDir)) {
    const path = join(folder.dataDir, name)
    if (!path.startsWith(temporaryPrefix(folder))) continue
    await rm(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * Returns whether the cluster exists and fits PostgreSQL's `major` version. Throws a `StartupFault`
 * if it belongs to another user or version, or is not a cluster.
 */
export async function hasCompatibleCluster(
  folder: EmbeddedFolder,
  major: string,
): Promise<boolean> {
  const { clusterDir } = folder
  return withStartupFaults(clusterDir, async () => {
    const found = await undefinedIfMissing(() => stat(clusterDir))
    if (found === undefined) return false
    const user = process.geteuid?.()
    if (user !== undefined && found.uid !== user) {
      throw new StartupFault(
        `${clusterDir} belongs to the user with id ${found.uid}, but this program runs as ${user}. ` +
          `Start it as that user, or change the owner of the data folder with chown -R.`,
      )
    }
    // Copying a folder often changes its mode, and PostgreSQL rejects every wider one.
    if ((found.mode & 0o777) !== 0o700) await chmod(clusterDir, 0o700)
    const version = (
      await undefinedIfMissing(() => readFile(join(clusterDir, "PG_VERSION"), "utf8"))
    )?.trim()
    if (version === major) return true
    throw new StartupFault(
      version === undefined
        ? `${clusterDir} is not a PostgreSQL data directory. Move it away, or set LEDGER_DATA_DIR to ` +
            `another folder.`
        : `${clusterDir} was created by PostgreSQL ${version}, but this release runs PostgreSQL ${major}. ` +
            `Migrate the data with pg_dump, or set LEDGER_DATA_DIR to another folder.`,
    )
  })
}

/** Whether a data folder contains a cluster, even an incomplete one; the folder need not exist. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  const cluster = join(resolve(dataDir), "postgres")
  const found = await withStartupFaults(cluster, () => undefinedIfMissing(() => stat(cluster)))
  return found !== undefined
}

/**
 * Throws a `StartupFault` if the cluster no longer exists. A restart must not create an empty
 * cluster in place of the stored data.
 */
export async function requireCluster(dataDir: string): Promise<void> {
  const cluster = join(resolve(dataDir), "postgres")
  const found = await withStartupFaults(cluster, () =>
    undefinedIfMissing(() => stat(join(cluster, "PG_VERSION"))),
  )
  if (found !== undefined) return
  throw new StartupFault(
    `${cluster} no longer exists, and neither does the data in it. Put the folder back, or restore a backup.`,
  )
}

/** Reads the credentials; undefined if they are missing or corrupt. */
export async function readCredentials(
  folder: EmbeddedFolder,
): Promise<ClusterCredentials | undefined> {
  const text = await withStartupFaults(folder.credentialsFile, () =>
    undefinedIfMissing(() => readFile(folder.credentialsFile, "utf8")),
  )
  return text === undefined ? undefined : parseCredentials(text)
}

function parseCredentials(text: string): ClusterCredentials | undefined {
  const match = /^\{"password":"([A-Za-z0-9_-]{43})","port":(\d{1,5})\}\n$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  return { password: match[1], port: Number(match[2]) }
}

/** Writes the credentials atomically, and flushes them to the disk. */
export async function writeCredentials(
  folder: EmbeddedFolder,
  credentials: ClusterCredentials,
): Promise<void> {
  const { password, port } = credentials
  const temporary = `${temporaryPrefix(folder)}credentials`
  await withStartupFaults(folder.credentialsFile, async () => {
    await rm(temporary, { force: true })
    const file = await open(temporary, "wx", 0o600)
    try {
      await file.writeFile(`${JSON.stringify({ password, port })}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, folder.credentialsFile)
    await syncFolder(folder.dataDir)
  })
}

/** Makes renames inside `path` survive a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes a file, if it exists. */
export async function removeFileIfExists(path: string): Promise<void> {
  await undefinedIfMissing(() => unlink(path))
}

/** Runs `work`; undefined if its file does not exist. */
export async function undefinedIfMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    throw error
  }
}

/** The `cluster_name` by which clients recognize the embedded PostgreSQL. */
export const EMBEDDED_CLUSTER_NAME = "company-ledger embedded"

/** The files of the embedded PostgreSQL; all paths are absolute. */
export interface EmbeddedFolder {
  readonly dataDir: string
  readonly clusterDir: string
  /** The superuser's password and the port, mode 0600. */
  readonly credentialsFile: string
  readonly logFile: string
}
