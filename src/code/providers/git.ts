/** The git provider: the machine's git, with the repositories in a folder. */
import { GIT_SIMULATOR, simulateGitFaults } from "../../../adapters/git/simulated-faults.ts"
import { openGit } from "../../../adapters/git/git.ts"
import type { Repositories } from "../../../adapters/git/port.ts"
import type { Provider } from "../../frame/provider.ts"
import type { CompanyCode } from "../company-code.ts"
import type { PackSlots } from "../git-client.ts"
import { openPackSlots } from "../git-client.ts"
import { resolveCodeDir, codeSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly repositories: Repositories
    readonly packSlots: PackSlots
    /** The companies' code, for other slices. */
    readonly companyCode: CompanyCode
    /** The folder of the repositories, for messages to operators. */
    readonly codeDir: string
  }
}

/** Provider of the repositories. */
export const gitProvider: Provider = {
  from: import.meta.url,
  name: "git",
  isLocal: true,
  simulator: GIT_SIMULATOR,
  open: async ({ settings, dataDir, simulators, pacer }, ports) => {
    const codeDir = resolveCodeDir(settings(codeSettings), dataDir)
    const repositories = simulateGitFaults(openGit({ codeDir }), { simulators, pacer })
    const packSlots = openPackSlots(pacer)
    // Loaded here, because this module is also loaded to list the settings.
    const { openCompanyCode } = await import("../company-code.ts")
    return { repositories, codeDir, packSlots, companyCode: openCompanyCode(ports) }
  },
}
