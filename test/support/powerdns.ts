/** A PowerDNS of the test, of Debian's packages. */
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { takenApart } from "./debian.ts"

const PACKAGES = [
  "pdns-server",
  "pdns-backend-sqlite3",
  "libluajit-5.1-2",
  "libluajit-5.1-common",
] as const
const KEY = "test-key"

/** Where its program and libraries are, or why there are none. */
export const powerDnsHere = () => takenApart(PACKAGES)

/** A running one. */
export interface PowerDns {
  readonly url: string
  readonly key: string
  /** Where it answers questions, `address:port`. */
  readonly address: string
  readonly port: number
  readonly close: () => Promise<void>
}

/** Starts one with no zone, at free ports of the loopback; anybody there gets whole zones of it. */
export async function startPowerDns(root: string): Promise<PowerDns> {
  const folder = await mkdtemp(join(tmpdir(), "pdns-"))
  const database = join(folder, "zones.sqlite")
  const libraries = join(root, "usr/lib/x86_64-linux-gnu")
  await makeDatabase(database, join(root, "usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"))
  const [port, apiPort] = [await freePort(), await freePort()]
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
  const said = await saidReady(child.stderr)
  if (!said.includes("ready to distribute")) throw new Error(`PowerDNS did not start: ${said}`)
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

/** What it wrote until it was ready, or ended. */
async function saidReady(stderr: NodeJS.ReadableStream): Promise<string> {
  let said = ""
  for await (const piece of stderr) {
    said += String(piece)
    if (said.includes("ready to distribute")) break
  }
  stderr.resume()
  return said
}

async function makeDatabase(path: string, schema: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite")
  const database = new DatabaseSync(path)
  database.exec(readFileSync(schema, "utf8"))
  database.close()
}

/** A port that nobody has. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}
