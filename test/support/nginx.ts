/** An nginx of the test. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"
import type { Found } from "./debian.ts"
import { programHere } from "./debian.ts"
import { freePort } from "./powerdns.ts"

/** Its program, or why there is none. */
export const nginxHere = (): Found => programHere("nginx", "usr/sbin/nginx", ["-v"])

/** A running one. */
export interface Nginx {
  readonly url: string
  /** Takes another `http` block; resolves once it goes by that. */
  readonly reload: (http: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts one that listens on a free port of the loopback.
 *
 * @param folder where it has its files
 * @param httpOf what stands in its `http` block, given what its server listens on
 */
export async function startNginx(
  program: string,
  folder: string,
  httpOf: (listen: string) => string,
): Promise<Nginx> {
  const listen = `127.0.0.1:${await freePort()}`
  const file = join(folder, "nginx.conf")
  const write = (http: string): void => writeFileSync(file, configuration(folder, http))
  write(httpOf(listen))
  const words = ["-p", `${folder}/`, "-c", file, "-e", "stderr"]
  const child = spawn(program, words, { stdio: ["ignore", "inherit", "pipe"] })
  const ended = once(child, "exit")
  const lines = createInterface({ input: child.stderr })
  const said: string[] = []
  lines.on("line", (line) => said.push(line))
  /** Its sockets are open before it starts a process to serve them. */
  const serves = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const look = (line: string): void => {
      if (line.includes("start worker process ")) resolve(undefined)
    }
    lines.on("line", look)
    const isEnded = await Promise.race([promise, ended])
    lines.off("line", look)
    if (isEnded !== undefined) throw new Error(`nginx did not start: ${said.join("\n")}`)
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

/** What nginx says of a configuration with that `http` block, without serving by it. */
export function checkedByNginx(program: string, folder: string, http: string): string {
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
