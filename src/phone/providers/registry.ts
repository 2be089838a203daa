/**
 * The registry: the built-in one, or Telnyx where a key of it is set; then the built-in one still takes what
 * is sent in test mode.
 */
import { openBuiltInRegistry } from "../../../adapters/providers/registry/built-in.ts"
import type { Registry } from "../../../adapters/providers/registry/port.ts"
import { REGISTRATION } from "../../../adapters/providers/registry/simulator.ts"
import type { Provider } from "../../frame/provider.ts"

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
  open: async (outside) => ({
    registry: outside.failing(openBuiltInRegistry(outside), "submit"),
  }),
}
