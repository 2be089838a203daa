/** The thread that looks for secrets in what is pushed. */
import type { SecretScanner } from "../../../adapters/git/secret-scan/port.ts"
import { openSecretScanner } from "../../../adapters/git/secret-scan/scanner.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly secretScan: SecretScanner
  }
}

/** Looks for secrets. */
export const secretScanProvider: Provider = {
  from: import.meta.url,
  name: "secret scan",
  isLocal: true,
  open: async ({ pacer, onShutdown }) => {
    const secretScan = openSecretScanner({ pacer })
    onShutdown("the thread that looks for secrets", secretScan.close)
    return { secretScan }
  },
}
