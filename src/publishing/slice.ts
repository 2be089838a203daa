/** The publishing slice: one commit of a company's code is its preview. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import {
  PUBLISH_AGGREGATE,
  PUBLISHING_SWITCHES_STREAM,
  publishStreamOf,
} from "../../domain/publishing/aggregates.ts"
import { livePublishOf } from "../../domain/publishing/publishing.ts"
import { countPublishes, publishesReadModel } from "../../projections/publishing/publishes.ts"
import type { Metric } from "../frame/http/metrics.ts"
import type { Ports } from "../frame/ports.ts"
import type { Slice } from "../frame/slice.ts"
import { openArtifact } from "./artifacts.ts"
import { previewLeaseRenewal } from "./preview-leases.ts"
import { companyPreviewHostRoute } from "./host-route/host-route.ts"
import { previewOperations } from "./operate/previews.ts"
import { publishOperations } from "./operate/publishes.ts"
import { previewHostProvider } from "./providers/preview-host.ts"
import { publishPreview } from "./publish-preview.ts"
import {
  deleteArtifact,
  endReplacedVersion,
  deleteBuildLogs,
  removeArtifacts,
} from "./reactions/after-publish.ts"
import { publishDetail, publishList } from "./publish-routes.ts"
import { publishingSettings } from "./settings.ts"

/** The live publish that this process knows; notifications keep it current. */
const livePublish = ({ runner }: Pick<Ports, "runner">, companyId: CompanyId) =>
  runner.read(publishStreamOf(companyId), livePublishOf)

const publishMetric: Metric = {
  name: "ledger_publishes",
  help: "Publishes by status.",
  labels: ["status"],
  read: async ({ readAll }) =>
    (await countPublishes(readAll)).map(({ status, count }) => ({
      labels: { status },
      value: count,
    })),
}

export const publishingSlice: Slice = {
  name: "publishing",
  streams: { perCompany: [PUBLISH_AGGREGATE], perInstallation: [PUBLISHING_SWITCHES_STREAM] },
  groups: {
    publishing: `One commit of the company's code is its preview: built, and served at one address with a sign-in of its own, for the company's people.

\`company.json\` at the root of the commit names the company, and says how to build and serve the code: a folder of files
(\`static\`), or a program (\`start\`) with a test database and storage. Publish a commit, then read the publish until its
\`status\` is \`live\` or \`failed\`. Each publish replaces the one before; the charge of a failed publish is refunded.`,
  },
  routes: [publishPreview, publishList, publishDetail],
  readModels: [publishesReadModel],
  reactions: [endReplacedVersion, removeArtifacts, deleteArtifact, deleteBuildLogs],
  settings: [publishingSettings],
  providers: [previewHostProvider],
  hostRoutes: (ports) => [companyPreviewHostRoute(ports, { livePublish, openArtifact })],
  daemons: [previewLeaseRenewal],
  erase: ({ previewHost }, companyId) => previewHost.erase(companyId),
  commands: [...publishOperations, ...previewOperations],
  topics: { publish: "what companies publish", preview: "companies' previews" },
  metrics: [publishMetric],
}
