/** The keys by which sending domains sign, in the program's database. */
import type { DkimKeys } from "../../../adapters/postgres/dkim-keys/port.ts"
import { openPostgresDkimKeys } from "../../../adapters/postgres/dkim-keys/dkim-keys.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly dkimKeys: DkimKeys
  }
}

/** Keeps the keys by which sending domains sign. */
export const dkimKeysProvider: Provider = {
  from: import.meta.url,
  name: "DKIM keys",
  ofMachine: true,
  open: async ({ pool, sealing }) => ({ dkimKeys: openPostgresDkimKeys({ pool, sealing }) }),
}
