/** Where the server listens, and what is to be done where it cannot. */
import { lookup } from "node:dns/promises"
import { portFault } from "../../../adapters/machine/machine.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Config } from "../settings/config.ts"

type Address = Pick<Config, "host" | "port">

/**
 * Looks whether a server could listen there, before anything is made for it. Somebody may take the port
 * right behind.
 *
 * @throws StartupFault where it could not
 */
export async function checkAddress({ host, port }: Address): Promise<void> {
  const code = await portFault(host, port)
  const sentence = code === null ? null : sentenceOf(code, { host, port })
  if (sentence !== null) throw new StartupFault(sentence)
}

/** Listens by `open`, which answers the URL of who listens there. @throws StartupFault where it cannot */
export async function listen(
  { host, port }: Address,
  open: (at: Address) => Promise<string>,
): Promise<string> {
  try {
    return await open({ host: await oneAddress(host), port })
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : ""
    const sentence = sentenceOf(code, { host, port })
    throw sentence === null ? error : new StartupFault(sentence, error)
  }
}

/** What to do about a code of the system; null for one of which nothing is known. */
function sentenceOf(code: string, { host, port }: Address): string | null {
  if (code === "EADDRINUSE") {
    return (
      `Port ${port} on ${host} is taken: stop the program that uses it, or set PORT to another ` +
      "(0 picks a free one)."
    )
  }
  if (code === "EACCES") return `This user may not use port ${port}: set PORT to 1024 or more.`
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"].includes(code)) {
    return `This machine has no address ${host}: set HOST to one it has.`
  }
  return null
}

/**
 * The framework listens on both addresses of this name, and on the second one without the handlers
 * of the first, nor does it wait for the calls that came there when it stops.
 */
async function oneAddress(host: string): Promise<string> {
  if (host !== "localhost") return host
  return (await lookup(host, { order: "ipv4first" })).address
}
