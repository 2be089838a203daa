/** Programs from Debian packages for tests, unpacked into a folder, because an installation would start system services. Without them, tests skip and give the reason. */
import { spawn, spawnSync, execFileSync } from "node:child_process"
import { once } from "node:events"
import {
  writeFileSync,
  readFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"

/** Finds Caddy, or returns why it is missing. */
export const findCaddy = (): ProgramLookup => findProgram("caddy", "usr/bin/caddy", ["version"])

/**
 * Starts Caddy; resolves once it serves.
 *
 * @param folder for its files; `caddy/pki/authorities/local/root.crt` is its root certificate
 * @param caddyfile without global options
 * @param httpPort port for requests without TLS
 * @param env variables that the Caddyfile uses
 * @param until log lines that it must write before it is ready, such as about a certificate
 * @returns a function that stops it
 */
export async function startCaddy(
  program: string,
  folder: string,
  caddyfile: string,
  httpPort: number,
  env: Readonly<Record<string, string>> = {},
  until: readonly string[] = [],
): Promise<() => Promise<void>> {
  const file = join(folder, "Caddyfile")
  const options = ["admin off", "skip_install_trust", `http_port ${httpPort}`]
  writeFileSync(file, `{\n${options.join("\n")}\n}\n${caddyfile}`)
  const words = ["run", "--config", file, "--adapter", "caddyfile"]
  const child = spawn(program, words, {
    env: { ...process.env, ...env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ["ignore", "ignore", "pipe"],
  })
  const ended = once(child, "exit")
  const lines = createInterface({ input: child.stderr })
  const output: string[] = []
  const serves = Promise.withResolvers<undefined>()
  const missing = new Set(["serving initial configuration", ...until])
  lines.on("line", (line) => {
    output.push(line)
    for (const one of missing) if (line.includes(one)) missing.delete(one)
    if (missing.size === 0) serves.resolve(undefined)
  })
  const isEnded = await Promise.race([serves.promise, ended])
  if (isEnded !== undefined) throw new Error(`caddy did not start: ${output.join("\n")}`)
  return async () => {
    child.kill("SIGTERM")
    await ended
  }
}

/** Finds nginx, or returns why it is missing. */
export const findNginx = (): ProgramLookup => findProgram("nginx", "usr/sbin/nginx", ["-v"])

export interface NginxServer {
  readonly url: string
  /** Loads another `http` block; resolves once it is in effect. */
  readonly reload: (http: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts nginx on a free port of the loopback.
 *
 * @param folder for its files
 * @param httpOf returns the content of the `http` block for a listen address
 */
export async function startNginx(
  program: string,
  folder: string,
  httpOf: (listen: string) => string,
): Promise<NginxServer> {
  const listen = `127.0.0.1:${await findFreePort()}`
  const file = join(folder, "nginx.conf")
  const write = (http: string): void => writeFileSync(file, configuration(folder, http))
  write(httpOf(listen))
  const words = ["-p", `${folder}/`, "-c", file, "-e", "stderr"]
  const child = spawn(program, words, { stdio: ["ignore", "inherit", "pipe"] })
  const ended = once(child, "exit")
  const lines = createInterface({ input: child.stderr })
  const output: string[] = []
  lines.on("line", (line) => output.push(line))
  /** nginx opens its sockets before it starts the worker process that serves them. */
  const serves = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const onLine = (line: string): void => {
      if (line.includes("start worker process ")) resolve(undefined)
    }
    lines.on("line", onLine)
    const isEnded = await Promise.race([promise, ended])
    lines.off("line", onLine)
    if (isEnded !== undefined) throw new Error(`nginx did not start: ${output.join("\n")}`)
  }
  await serves()
  return {
    url: `http://${listen}`,
    reload: async (http) => {
      write(http)
      child.kill("SIGHUP")
      await serves()
    },
    stop: async () => {
      child.kill("SIGQUIT")
      await ended
    },
  }
}

/** Tests a configuration with an `http` block; returns nginx's output. */
export function checkNginxConfig(program: string, folder: string, http: string): string {
  const file = join(folder, "checked.conf")
  writeFileSync(file, configuration(folder, http))
  const words = ["-t", "-p", `${folder}/`, "-e", "stderr", "-c", file]
  return spawnSync(program, words, { encoding: "utf8" }).stderr
}

function configuration(folder: string, http: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return [
    ...(process.geteuid?.() === 0 ? ["user root;"] : []),
    "daemon off;",
    "worker_processes 1;",
    `pid ${folder}/nginx.pid;`,
    "error_log stderr notice;",
    "events { worker_connections 1024; }",
    `http {\naccess_log off;\n${temporary.join("\n")}\n${http}\n}\n`,
  ].join("\n")
}

const PACKAGES = [
  "pdns-server",
  "pdns-backend-sqlite3",
  "libluajit-5.1-2",
  "libluajit-5.1-common",
] as const
const KEY = "test-key"

/** Finds the folder of PowerDNS and its libraries, or returns why it is missing. */
export const findPowerDns = () => unpackPackages(PACKAGES)

export interface PowerDnsServer {
  readonly url: string
  readonly key: string
  /** Address for queries, `address:port`. */
  readonly address: string
  readonly port: number
  readonly close: () => Promise<void>
}

/** Starts PowerDNS without zones, at free ports of the loopback, which may transfer zones. */
export async function startPowerDns(root: string): Promise<PowerDnsServer> {
  const folder = await mkdtemp(join(tmpdir(), "pdns-"))
  const database = join(folder, "zones.sqlite")
  const libraries = join(root, "usr/lib/x86_64-linux-gnu")
  await makeDatabase(database, join(root, "usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"))
  const [port, apiPort] = [await findFreePort(), await findFreePort()]
  writeFileSync(join(folder, "pdns.conf"), "")
  const settings = {
    "config-dir": folder,
    "socket-dir": folder,
    "module-dir": join(libraries, "pdns"),
    launch: "gsqlite3",
    "gsqlite3-database": database,
    "local-address": "127.0.0.1",
    "local-port": port,
    webserver: "yes",
    "webserver-address": "127.0.0.1",
    api: "yes",
    "webserver-port": apiPort,
    "api-key": KEY,
    "cache-ttl": 0,
    "query-cache-ttl": 0,
    "negquery-cache-ttl": 0,
    "zone-cache-refresh-interval": 0,
    daemon: "no",
    guardian: "no",
    "allow-axfr-ips": "127.0.0.0/8",
    "disable-syslog": "yes",
  }
  const words = Object.entries(settings).map(([name, value]) => `--${name}=${value}`)
  const env = { ...process.env, LD_LIBRARY_PATH: libraries }
  const child = spawn(join(root, "usr/sbin/pdns_server"), words, { env })
  const ended = once(child, "close")
  const output = await untilReadyLine(child.stderr)
  if (!output.includes("ready to distribute")) throw new Error(`PowerDNS did not start: ${output}`)
  return {
    url: `http://127.0.0.1:${apiPort}`,
    key: KEY,
    address: `127.0.0.1:${port}`,
    port,
    close: async () => {
      child.kill("SIGKILL")
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

/** Reads its output until it is ready or ends. */
async function untilReadyLine(stderr: NodeJS.ReadableStream): Promise<string> {
  let output = ""
  for await (const piece of stderr) {
    output += String(piece)
    if (output.includes("ready to distribute")) break
  }
  stderr.resume()
  return output
}

async function makeDatabase(path: string, schema: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite")
  const database = new DatabaseSync(path)
  database.exec(readFileSync(schema, "utf8"))
  database.close()
}

/** Finds a free port. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

/** Packages are unpacked once, for all runs. */
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/company-ledger-debian")

/** A program's path, or why it is missing. */
type ProgramLookup = { readonly program: string } | { readonly missing: string }

/**
 * Finds a program: the machine's, or that of the Debian package of the same name.
 *
 * @param packagePath its path in the package
 * @param words arguments of a call that shows whether it starts
 */
function findProgram(name: string, packagePath: string, words: readonly string[]): ProgramLookup {
  const starts = (program: string): boolean => spawnSync(program, words).status === 0
  if (starts(name)) return { program: name }
  const unpacked = unpackPackages([name])
  if ("missing" in unpacked) return unpacked
  const program = join(unpacked.root, packagePath)
  return starts(program)
    ? { program }
    : { missing: `Debian's ${name} does not start on this system` }
}

/** The folder with the files of these packages, or why it is missing. */
function unpackPackages(
  packages: readonly [string, ...string[]],
): { readonly root: string } | { readonly missing: string } {
  const root = join(CACHE, packages[0])
  if (existsSync(root)) return { root }
  for (const tool of ["apt-get", "dpkg"]) {
    if (spawnSync(tool, ["--version"]).error !== undefined) {
      return { missing: `${tool} is not installed here` }
    }
  }
  mkdirSync(CACHE, { recursive: true })
  // Test files may unpack concurrently, each into its own folder; the first to finish wins.
  const own = mkdtempSync(`${root}-`)
  const download = spawnSync("apt-get", ["download", ...packages], { cwd: own, timeout: 60_000 })
  if (download.status !== 0)
    return { missing: `${packages[0]} could not be downloaded from Debian` }
  const unpacked = join(own, "root")
  for (const file of readdirSync(own)) execFileSync("dpkg", ["-x", join(own, file), unpacked])
  if (existsSync(root)) return { root: unpacked }
  renameSync(unpacked, root)
  rmSync(own, { recursive: true })
  return { root }
}
