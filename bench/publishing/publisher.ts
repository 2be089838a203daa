/** A company that publishes, with its owner signed in to its preview, for benchmarks. */
import { mkdir, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { GitWorkspace } from "../code/git-workspace.ts"
import { openCodeCompany } from "../code/code-company.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"

const POLL_INTERVAL_MS = 50

export interface Publisher {
  readonly companyId: CompanyId
  /** The host name of its preview. */
  readonly host: string
  /** Publishes its commit; resolves once it is queued. */
  readonly publish: () => Promise<void>
  /** The status of its newest publish. */
  readonly status: () => Promise<string>
  /** Signs its owner in; returns the cookie. */
  readonly signIn: () => Promise<string>
}

/** Opens a company whose code has these files. @param port of the server */
export async function openPublisher(
  house: BenchInstallation,
  desk: GitWorkspace,
  port: number,
  { name, files }: { readonly name: string; readonly files: Readonly<Record<string, string>> },
): Promise<Publisher> {
  const { companyId, key, repositoryUrl } = await openCodeCompany(house, port, { name })
  await mkdir(join(desk.folder, name))
  await desk.git(name, "init", "-q", "--initial-branch=main")
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(desk.folder, name, path), content)
  }
  await desk.git(name, "add", "-A")
  await desk.git(name, "commit", "-q", "-m", "the first")
  await desk.git(name, "push", "-q", repositoryUrl, "main")
  const { url } = await house.operate("preview show", { company: companyId })
  const { host } = new URL(url)
  const commit = await desk.read(name, "rev-parse", "HEAD")
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  return {
    companyId,
    host,
    publish: async () => {
      const asked = { method: "POST", headers, body: JSON.stringify({ commit }) }
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/publish/preview`, asked)
      assertMeasurement(answer.status === 202, `a publish was answered ${answer.status}`)
    },
    status: async () => {
      const { publishes } = await house.operate("publish list", { company: companyId })
      return `${publishes[0]?.status} ${publishes[0]?.error ?? ""}`.trim()
    },
    signIn: () => signIn(house, port, companyId, host),
  }
}

async function signIn(
  { operate }: BenchInstallation,
  port: number,
  companyId: CompanyId,
  host: string,
): Promise<string> {
  const asked = await postForm(port, host, "/.preview/code", "email=owner@example.com")
  for (;;) {
    const { mails } = await operate("mail list", { company: companyId })
    const code = mails[0]?.subject.slice(0, 6)
    if (code !== undefined) return postForm(port, host, "/.preview/enter", `code=${code}`, asked)
    await pause(POLL_INTERVAL_MS)
  }
}

/** Sends a form; returns the cookie of the answer. */
function postForm(
  port: number,
  host: string,
  path: string,
  form: string,
  cookie = "",
): Promise<string> {
  const headers = {
    host,
    cookie,
    origin: `http://${host}`,
    "content-type": "application/x-www-form-urlencoded",
    "content-length": form.length,
  }
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asked = request({ host: "127.0.0.1", port, path, method: "POST", headers }, (answer) => {
    answer.resume()
    const set = answer.headers["set-cookie"]?.[0]?.split(";", 1)[0]
    if (set === undefined) reject(new Error(`${path} was answered ${answer.statusCode}`))
    else resolve(set)
  })
  asked.once("error", reject)
  asked.end(form)
  return promise
}
