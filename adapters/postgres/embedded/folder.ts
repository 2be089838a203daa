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

/** PostgreSQL keeps paths in 1,024 bytes and appends file names of its own. */
const MAX_CLUSTER_PATH_BYTES = 900

/** How the cluster is entered. */
export interface ClusterCredentials {
  readonly password: string
  /** The port of the last start; a later start takes it again when it is free. */
  readonly port: number
}

/**
 * Makes the data folder when it is missing (mode 0700), and removes what a killed first start left
 * half made. Throws a `StartupFault` when the folder cannot be used.
 */
export async function openEmbeddedFolder(dataDir: string): Promise<EmbeddedFolder> {
  const wanted = resolve(dataDir)
  return withStartupFaults(wanted, async () => {
    await mkdir(wanted, { recursive: true, mode: 0o700 })
    const real = await realpath(wanted)
    const cluster = join(real, "postgres")
    const bytes = Buffer.byteLength(cluster)
    if (bytes > MAX_CLUSTER_PATH_BYTES) {
      throw new StartupFault(
        `The path ${cluster} has ${bytes} bytes, PostgreSQL takes at most ` +
          `${MAX_CLUSTER_PATH_BYTES}: set LEDGER_DATA_DIR to a shorter one.`,
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

/** The prefix of everything that is made beside the cluster and then renamed or removed. */
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
 * True when the cluster is there and fits PostgreSQL's `major` version, false when it has yet to
 * be made. Throws a `StartupFault` when it is another user's, another version's, or no cluster.
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
        `${clusterDir} belongs to the user with id ${found.uid}, this program runs as ${user}: ` +
          `start it as that user, or hand the data folder over with chown -R.`,
      )
    }
    // A copied folder often has lost these bits, and PostgreSQL refuses every wider mode.
    if ((found.mode & 0o777) !== 0o700) await chmod(clusterDir, 0o700)
    const version = (
      await undefinedIfMissing(() => readFile(join(clusterDir, "PG_VERSION"), "utf8"))
    )?.trim()
    if (version === major) return true
    throw new StartupFault(
      version === undefined
        ? `${clusterDir} is not a folder of PostgreSQL's: move it away, or set LEDGER_DATA_DIR to ` +
            `another folder.`
        : `${clusterDir} was made by PostgreSQL ${version}, this release runs PostgreSQL ${major}: ` +
            `carry it over with pg_dump, or set LEDGER_DATA_DIR to another folder.`,
    )
  })
}

/** Whether a data folder has a cluster, whole or not; the folder itself need not be there. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  const cluster = join(resolve(dataDir), "postgres")
  const found = await withStartupFaults(cluster, () => undefinedIfMissing(() => stat(cluster)))
  return found !== undefined
}

/**
 * Throws a `StartupFault` where no cluster is there any more: one that is to be started again is not
 * made anew, for whoever works with it would find nothing of what was stored.
 */
export async function requireCluster(dataDir: string): Promise<void> {
  const cluster = join(resolve(dataDir), "postgres")
  const found = await withStartupFaults(cluster, () =>
    undefinedIfMissing(() => stat(join(cluster, "PG_VERSION"))),
  )
  if (found !== undefined) return
  throw new StartupFault(
    `${cluster} is gone, and with it what was stored there: put it back, or restore a backup.`,
  )
}

/** The kept access, undefined when it is missing or damaged. */
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

/** Keeps the access: whole or not at all, and on the disk when this resolves. */
export async function writeCredentials(
  folder: EmbeddedFolder,
  access: ClusterCredentials,
): Promise<void> {
  const { password, port } = access
  const temporary = `${temporaryPrefix(folder)}access`
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

/** Makes renames inside `path` outlive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes a file; one that is missing is as good. */
export async function removeFileIfExists(path: string): Promise<void> {
  await undefinedIfMissing(() => unlink(path))
}

/** The answer of `work`, undefined when the file it looks for does not exist. */
export async function undefinedIfMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    throw error
  }
}

/** What the embedded PostgreSQL calls itself (`cluster_name`): whoever connects knows it again. */
export const EMBEDDED_CLUSTER_NAME = "company-ledger embedded"

/** Where the embedded PostgreSQL keeps what is its own; every path is absolute. */
export interface EmbeddedFolder {
  readonly dataDir: string
  /** PostgreSQL's own data directory. */
  readonly clusterDir: string
  /** The superuser's password and the port, mode 0600. */
  readonly credentialsFile: string
  readonly logFile: string
}
