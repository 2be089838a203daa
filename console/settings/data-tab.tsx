import { Button, Group, Stack } from "@mantine/core"
import { queryClient } from "../api/query-client.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { CopyCommandButton } from "../parts/copy-command.tsx"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { Section } from "../parts/page-layout.tsx"
import { useDownload } from "../parts/use-download.ts"

/** Exports and deletes the company's data. */
export function DataTab() {
  return (
    <>
      <Export />
      <Delete />
    </>
  )
}

function Export() {
  const { company, companyId } = useMe()
  const { isBusy, error, save } = useDownload()
  const name = company ?? companyId
  const file = `${name.replaceAll(/[^\w.-]+/g, "-")}-data.ndjson`
  return (
    <Section
      title="Export"
      description="All data of the company in one file: every fact in order, names and texts in clear text, and every mail sent. It contains personal data: store it safely."
    >
      <Stack align="flex-start">
        <Group gap="xs">
          <Button
            variant="default"
            loading={isBusy}
            onClick={() => save("company-export", {}, file)}
          >
            Download everything
          </Button>
          <CopyCommandButton command={`company-ledger company export '${name}' --out ${file}`} />
        </Group>
        {error === null ? null : <ErrorAlert error={error} />}
      </Stack>
    </Section>
  )
}

function Delete() {
  const { company, companyId } = useMe()
  const name = company ?? companyId
  return (
    <Section
      title="Delete the company"
      description="The data is erased after 14 days. Until then an owner can restore the company here."
    >
      <ActionButton
        operation="company-delete"
        input={{ company: name }}
        label="Delete the company"
        warning="It can be undone for 14 days"
        description="All keys stop working immediately, and spending ends. After 14 days the data is erased for good."
        successMessage="The company was deleted."
        isDangerous
        onDone={() => void queryClient.invalidateQueries({ queryKey: ["session"] })}
      />
    </Section>
  )
}
