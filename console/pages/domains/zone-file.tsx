import { Button, Modal } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../../api/company.ts"
import { call } from "../../api/call.ts"
import { useMe } from "../../api/session.ts"
import { TextView } from "../../parts/text-view.tsx"
import { Loaded } from "../../parts/loaded.tsx"

/** A button: all records as one text, in the form that other name servers take. */
export function ExportZone({ domain }: { readonly domain: Schema<"Domain"> }) {
  const [isOpen, { open, close }] = useDisclosure(false)
  return (
    <>
      <Button variant="default" onClick={open}>
        Zone file
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={`Zone file of ${domain.domain}`}
        size="xl"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <ZoneFile domain={domain} />
      </Modal>
    </>
  )
}

function ZoneFile({ domain: { id, domain } }: { readonly domain: Schema<"Domain"> }) {
  const { companyId } = useMe()
  const found = useQuery({
    queryKey: [companyId, "zone-file", id],
    queryFn: () =>
      call<{ readonly file: string }>("POST", `/${companyId}/api/v1/domain`, {
        ...{ action: "export_records", domainId: id },
      }),
  })
  return (
    <Loaded of={found} lines={8}>
      {({ file }) => <TextView title="Zone file" text={file} fileName={`${domain}.zone`} />}
    </Loaded>
  )
}
