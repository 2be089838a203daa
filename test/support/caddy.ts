/** A Caddy of the test. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"
import type { Found } from "./debian.ts"
import { programHere } from "./debian.ts"

/** Its program, or why there is none. */
export const caddyHere = (): Found => programHere("caddy", "usr/bin/caddy", ["version"])

/**
 * Starts one; resolves once it serves.
 *
 * @param folder where it has its files: `caddy/pki/authorities/local/root.crt` is what it signs by
 * @param caddyfile without global options
 * @param httpPort where it answers what comes without TLS to a site with it
 * @param env what the file names
 * @param until lines that it writes before it is ready, such as about a certificate that it makes at the start
 * @returns what stops it
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
  const said: string[] = []
  const serves = Promise.withResolvers<undefined>()
  const missing = new Set(["serving initial configuration", ...until])
  lines.on("line", (line) => {
    said.push(line)
    for (const one of missing) if (line.includes(one)) missing.delete(one)
    if (missing.size === 0) serves.resolve(undefined)
  })
  const isEnded = await Promise.race([serves.promise, ended])
  if (isEnded !== undefined) throw new Error(`caddy did not start: ${said.join("\n")}`)
  return async () => {
    child.kill("SIGTERM")
    await ended
  }
}
