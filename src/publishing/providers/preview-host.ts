/** Where previews are built and run: in sandboxes of the host of boxes, or in memory where that is simulated. */
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

/** Builds what is published, and runs the apps of it. */
export const previewHostProvider: Provider = {
  from: import.meta.url,
  name: "publish",
  isLocal: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: PUBLISH_SIMULATOR,
  open: async (outside, ports) => {
    let chosen: PreviewHost | null = null
    // Not before it is asked for something: the host of boxes is opened at the same time.
    const host = () =>
      (chosen ??= outside.withFailurePoints(
        outside.withFailurePoints(openHost(outside, ports()), "build"),
        "start",
      ))
    return { previewHost: simulatePreviewFaults(host, outside) }
  },
}

/** Previews are simulated where boxes are. */
function openHost(
  outside: ProviderContext,
  { boxHost, boxMachine }: Pick<Ports, "boxHost" | "boxMachine">,
): PreviewHost {
  if (boxMachine === null) return openSimulatedPreviews({ ...outside, hostId: boxHost.hostId })
  const { dataDir, pacer, settings } = outside
  const volumesFolder = resolvePreviewDir(settings(publishingSettings), dataDir)
  return openSandboxedPreviews({ boxHost, pacer, volumesFolder, readAndDelete: readAndDeleteFile })
}
