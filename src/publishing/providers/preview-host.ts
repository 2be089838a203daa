/** The preview host: sandboxes of the box host, or memory if boxes are simulated. */
import { readAndDeleteFile } from "../../../adapters/sandbox/boxhost/code-scripts.ts"
import { openSimulatedPreviews } from "../../../adapters/sandbox/preview-host/simulator.ts"
import {
  PUBLISH_SIMULATOR,
  simulatePreviewFaults,
} from "../../../adapters/sandbox/preview-host/simulated-faults.ts"
import type { PreviewHost } from "../../../adapters/sandbox/preview-host/port.ts"
import { openSandboxedPreviews } from "../../../adapters/sandbox/preview-host/sandboxed-previews.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import type { Ports } from "../../frame/ports.ts"
import { resolvePreviewDir, publishingSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly previewHost: PreviewHost
  }
}

/** Provider that builds publishes and runs their apps. */
export const previewHostProvider: Provider = {
  from: import.meta.url,
  name: "publish",
  isLocal: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: PUBLISH_SIMULATOR,
  open: async (outside, ports) => {
    let chosen: PreviewHost | null = null
    // Opened at the first call, because the box host is opened concurrently.
    const host = () =>
      (chosen ??= outside.withFailurePoints(
        outside.withFailurePoints(openHost(outside, ports()), "build"),
        "start",
      ))
    return { previewHost: simulatePreviewFaults(host, outside) }
  },
}

/** Opens the host; previews are simulated if boxes are. */
function openHost(
  outside: ProviderContext,
  { boxHost, boxMachine }: Pick<Ports, "boxHost" | "boxMachine">,
): PreviewHost {
  if (boxMachine === null) return openSimulatedPreviews({ ...outside, hostId: boxHost.hostId })
  const { dataDir, pacer, settings } = outside
  const volumesFolder = resolvePreviewDir(settings(publishingSettings), dataDir)
  return openSandboxedPreviews({ boxHost, pacer, volumesFolder, readAndDelete: readAndDeleteFile })
}
