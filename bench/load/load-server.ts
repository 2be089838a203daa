/** The running server of a data folder, and the company whose money a load spends. */
import { readRunningServer } from "../../adapters/machine/data-folder/running-server.ts"
import {
  ServerGone,
  callOperation,
  sendOverSocket,
  identifyServer,
} from "../../src/frame/operator/cli/client.ts"
import { escapeForTerminalOutput } from "../../src/frame/operator/cli/terminal.ts"
import type { CallerKeys } from "./call-generator.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"

/** More than any load spends, in dollars. */
const AMPLE_FUNDS = "100000"
/** Less than the price of a text. */
const TIGHT_LIMIT = "0.005"

/** The load could not be prepared or checked; the message says why. */
export class LoadError extends Error {
  override readonly name = "LoadError"
}

/** A running server, as its operator reaches it. */
export interface LoadServer {
  readonly host: string
  readonly port: number
  /** Runs an operation. @throws LoadError if it is refused, or the server is gone */
  // Each caller knows the type of the answer.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly operate: (name: string, input: object) => Promise<any>
}

/** Finds the server of a data folder. @throws LoadError if there is none */
export async function findLoadServer(
  dataDir: string,
  signal: AbortSignal,
  progress: (message: string) => void,
): Promise<LoadServer> {
  const found = await readRunningServer(dataDir)
  if (found === null || (await identifyServer(found.socketPath, found.folderId)) === null) {
    throw new LoadError(
      `No server works on ${dataDir}: start one with "npm start", ` +
        "or name its folder with LEDGER_DATA_DIR.",
    )
  }
  const { hostname, port } = new URL(found.url)
  const following = { progress, signal }
  const send = sendOverSocket(found.socketPath)
  return {
    host: hostname.replace(/^\[|\]$/gu, ""),
    port: Number(port),
    operate: async (operation, input) => {
      const request = { operation, input, actor: "load", reason: "npm run load" }
      const answer = await callOperation(send, request, following).catch((error: unknown) => {
        if (!(error instanceof ServerGone)) throw error
        throw new LoadError(error.message, { cause: error })
      })
      if ("result" in answer) return answer.result
      throw new LoadError(
        escapeForTerminalOutput(`"${operation}" was refused: ${answer.error.message}`),
      )
    },
  }
}

export interface LoadCompany extends CallerKeys {
  readonly companyId: CompanyId
}

/** Opens a company with limits on it, its owner and each key, and one person without funds to spend. */
export async function openLoadCompany(
  { operate }: Pick<LoadServer, "operate">,
  run: string,
  keyCount: number,
): Promise<LoadCompany> {
  const opened = await operate("company create", { name: `load ${run}`, funds: AMPLE_FUNDS })
  const { companyId: company, ownerId: person } = opened as {
    readonly companyId: CompanyId
    readonly ownerId: PersonId
  }
  await operate("card set", { company, verified: true })
  const month = { company, class: "general", period: "month", dollars: AMPLE_FUNDS }
  await operate("limit set", month)
  await operate("limit set", { ...month, person })
  const keyOf = async (of: string, dollars: string): Promise<string> => {
    const made = await operate("key create", { company, person: of, allOperations: true })
    const { keyId, key } = made as { readonly keyId: KeyId; readonly key: string }
    await operate("limit set", { company, key: keyId, period: "month", dollars })
    return key
  }
  const fundedKeys = await Promise.all(
    Array.from({ length: keyCount }, () => keyOf(person, AMPLE_FUNDS)),
  )
  const poor = await operate("person add", {
    company,
    name: "Without means",
    email: "without-means@example.com",
    role: "admin",
  })
  const { personId } = poor as { readonly personId: PersonId }
  await operate("limit set", { ...month, person: personId, dollars: TIGHT_LIMIT })
  return { companyId: company, fundedKeys, limitedKey: await keyOf(personId, AMPLE_FUNDS) }
}
