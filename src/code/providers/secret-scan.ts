/** The secret scanner: a thread that scans pushes for secrets. */
import type { SecretScanner } from "../../../adapters/git/secret-scan/port.ts"
import { openSecretScanner } from "../../../adapters/git/secret-scan/scanner.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly secretScan: SecretScanner
  }
}

/** Provider of the secret scanner. */
export const secretScanProvider: Provider = {
  from: import.meta.url,
  name: "secret scan",
  isLocal: true,
  open: async ({ pacer, onShutdown }) => {
    const secretScan = openSecretScanner({ pacer })
    onShutdown("the secret scanner", secretScan.close)
    return { secretScan }
  },
}
