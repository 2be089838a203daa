/**
 * The registry: the built-in one, or Telnyx where a key of it is set; then the built-in one still takes what
 * is sent in test mode.
 */
import { openBuiltInRegistry, REGISTRATION } from "../../../adapters/providers/registry/built-in.ts"
import type { Registry } from "../../../adapters/providers/registry/port.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { telnyxAccount } from "../../frame/telnyx-settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly registry: Registry
  }
}

/** Has businesses, campaigns and numbers reviewed. */
export const registry: Provider = {
  from: import.meta.url,
  name: "registry",
  chosenBy: (given) => (given["TELNYX_KEY"] === undefined ? null : "TELNYX_KEY"),
  simulator: REGISTRATION,
  open: async (outside, ports) => {
    const chosen = await besideReal(outside, ports, openBuiltInRegistry(outside))
    return { registry: outside.failing(chosen, "submit") }
  },
}

/** The built-in registry alone, or with Telnyx, which is loaded where it is chosen. */
async function besideReal(
  outside: Outside,
  ports: () => Pick<Ports, "baseUrl">,
  builtIn: Registry,
): Promise<Registry> {
  const account = telnyxAccount(outside, ports)
  if (account === null) return builtIn
  const [{ openTelnyxRegistry }, { byMode }] = await Promise.all([
    import("../../../adapters/providers/registry/telnyx.ts"),
    import("../../../adapters/providers/registry/built-in.ts"),
  ])
  return byMode(builtIn, openTelnyxRegistry(account))
}
