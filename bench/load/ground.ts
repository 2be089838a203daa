/** The running server of a data folder, and the company that a load spends the money of. */
import { announced } from "../../adapters/machine/data-folder/announced.ts"
import {
  ServerGone,
  askOperation,
  onSocket,
  serverOf,
} from "../../src/frame/operator/cli/client.ts"
import { harmless } from "../../src/frame/operator/cli/terminal.ts"
import type { CallerKeys } from "./calls.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"

/** More than any load spends, in dollars. */
const PLENTY = "100000"
/** Less than a text costs. */
const TIGHT = "0.005"

/** The load could not be prepared or looked at: the sentence says why. */
export class LoadFault extends Error {
  override readonly name = "LoadFault"
}

/** A running server, as its operator reaches it. */
export interface RunningServer {
  readonly host: string
  readonly port: number
  /** Runs an operator's operation. @throws LoadFault where it is refused, or the server is gone */
  // Whoever asks knows the answer of what they ask for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly operate: (name: string, input: object) => Promise<any>
}

/** Finds the server that works on a data folder. @throws LoadFault where there is none */
export async function findServer(
  dataDir: string,
  signal: AbortSignal,
  progress: (message: string) => void,
): Promise<RunningServer> {
  const found = await announced(dataDir)
  if (found === null || (await serverOf(found.socketPath, found.folderId)) === null) {
    throw new LoadFault(
      `No server works on ${dataDir}: start one with "npm start", ` +
        "or name its folder with LEDGER_DATA_DIR.",
    )
  }
  const { hostname, port } = new URL(found.url)
  const following = { progress, signal }
  const send = onSocket(found.socketPath)
  return {
    host: hostname.replace(/^\[|\]$/gu, ""),
    port: Number(port),
    operate: async (operation, input) => {
      const request = { operation, input, actor: "load", reason: "npm run load" }
      const answer = await askOperation(send, request, following).catch((error: unknown) => {
        if (!(error instanceof ServerGone)) throw error
        throw new LoadFault(error.message, { cause: error })
      })
      if ("result" in answer) return answer.result
      throw new LoadFault(harmless(`"${operation}" was refused: ${answer.error.message}`))
    },
  }
}

/** A company for one load. */
export interface LoadCompany extends CallerKeys {
  readonly companyId: CompanyId
}

/** Opens a company with limits on it, on its owner and on each key, and one person without means. */
export async function openLoadCompany(
  { operate }: Pick<RunningServer, "operate">,
  run: string,
  keyCount: number,
): Promise<LoadCompany> {
  const opened = await operate("company create", { name: `load ${run}`, funds: PLENTY })
  const { companyId: company, ownerId: person } = opened as {
    readonly companyId: CompanyId
    readonly ownerId: PersonId
  }
  await operate("card set", { company, verified: true })
  const month = { company, class: "general", period: "month", dollars: PLENTY }
  await operate("limit set", month)
  await operate("limit set", { ...month, person })
  const keyOf = async (of: string, dollars: string): Promise<string> => {
    const made = await operate("key create", { company, person: of, allOperations: true })
    const { keyId, key } = made as { readonly keyId: KeyId; readonly key: string }
    await operate("limit set", { company, key: keyId, period: "month", dollars })
    return key
  }
  const rich = await Promise.all(Array.from({ length: keyCount }, () => keyOf(person, PLENTY)))
  const poor = await operate("person add", {
    company,
    name: "Without means",
    email: "without-means@example.com",
    role: "admin",
  })
  const { personId } = poor as { readonly personId: PersonId }
  await operate("limit set", { ...month, person: personId, dollars: TIGHT })
  return { companyId: company, rich, poor: await keyOf(personId, PLENTY) }
}
