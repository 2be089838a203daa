/** The thread that looks for secrets in what is pushed. */
import type { SecretScan } from "../../../adapters/git/secret-scan/port.ts"
import { openSecretScan } from "../../../adapters/git/secret-scan/scan.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly secretScan: SecretScan
  }
}

/** Looks for secrets. */
export const secretScanProvider: Provider = {
  from: import.meta.url,
  name: "secret scan",
  ofMachine: true,
  open: async ({ pacer, atEnd }) => {
    const secretScan = openSecretScan({ pacer })
    atEnd("the thread that looks for secrets", secretScan.close)
    return { secretScan }
  },
}
