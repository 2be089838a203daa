import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../../api/api-client.ts"
import { callConsole } from "../../api/console-request.ts"
import { useMe } from "../../api/session.ts"
import { DialogButton } from "../../parts/dialog-button.tsx"
import { TextView } from "../../parts/text-view.tsx"
import { QueryView } from "../../parts/query-view.tsx"

/** A button that shows all records as a zone file. */
export function ExportZone({ domain }: { readonly domain: Schema<"Domain"> }) {
  return (
    <DialogButton label="Zone file" title={`Zone file of ${domain.domain}`} size="xl">
      {() => <ZoneFile domain={domain} />}
    </DialogButton>
  )
}

function ZoneFile({ domain: { id, domain } }: { readonly domain: Schema<"Domain"> }) {
  const { companyId } = useMe()
  const found = useQuery({
    queryKey: [companyId, "zone-file", id],
    queryFn: () =>
      callConsole<{ readonly file: string }>("POST", `/${companyId}/api/v1/domain`, {
        action: "export_records",
        domainId: id,
      }),
  })
  return (
    <QueryView query={found} lines={8}>
      {({ file }) => <TextView title="Zone file" text={file} fileName={`${domain}.zone`} />}
    </QueryView>
  )
}
