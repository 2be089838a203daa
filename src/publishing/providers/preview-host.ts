/** Where previews are built and run: in sandboxes of the host of boxes, or in memory where that is simulated. */
import { piecesOf } from "../../../adapters/sandbox/boxhost/code-scripts.ts"
import { openBuiltInPreviews } from "../../../adapters/sandbox/preview-host/built-in.ts"
import { PUBLISH, failingPreviews } from "../../../adapters/sandbox/preview-host/failing.ts"
import type { PreviewHost } from "../../../adapters/sandbox/preview-host/port.ts"
import { openSandboxedPreviews } from "../../../adapters/sandbox/preview-host/sandboxed.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import type { Ports } from "../../frame/ports.ts"
import { previewFolderIn, publishingSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly previewHost: PreviewHost
  }
}

/** Builds what is published, and runs the apps of it. */
export const previewHostProvider: Provider = {
  from: import.meta.url,
  name: "publish",
  ofMachine: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: PUBLISH,
  open: async (outside, ports) => {
    let chosen: PreviewHost | null = null
    // Not before it is asked for something: the host of boxes is opened at the same time.
    const host = () =>
      (chosen ??= outside.failing(outside.failing(hostOf(outside, ports()), "build"), "start"))
    return { previewHost: failingPreviews(host, outside) }
  },
}

/** Previews are simulated where boxes are. */
function hostOf(
  outside: Outside,
  { boxHost, boxMachine }: Pick<Ports, "boxHost" | "boxMachine">,
): PreviewHost {
  if (boxMachine === null) return openBuiltInPreviews({ ...outside, hostId: boxHost.hostId })
  const { dataDir, pacer, settings } = outside
  const dir = previewFolderIn(settings(publishingSettings), dataDir)
  return openSandboxedPreviews({ boxHost, pacer, dir, readOut: piecesOf })
}
