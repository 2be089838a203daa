import { Button, Group, Stack, Text } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import type { ReactNode } from "react"
import type { OperationInput } from "../api/operations.ts"
import { downloadFile, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { useAsyncAction } from "./use-async-action.ts"

interface DownloadProps {
  readonly operation: string
  readonly input?: OperationInput
  readonly fileName: string
  readonly label: string
  readonly description: ReactNode
  readonly children?: ReactNode
}

/** A button that describes a file and downloads it. Hidden from people who may not have it. */
export function DownloadButton(props: DownloadProps) {
  const { operation: name, label } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no") return null
  return (
    <DialogButton label={label}>
      {(close) => <DownloadForm {...props} onClose={close} />}
    </DialogButton>
  )
}

function DownloadForm(props: DownloadProps & { readonly onClose: () => void }) {
  const { operation: name, input = {}, fileName, description, children, onClose } = props
  const { companyId } = useMe()
  const operation = useOperation(name)
  const commandOf = useCommand()
  const { run, isBusy, error } = useAsyncAction(async () => {
    await downloadFile(companyId, name, input, fileName)
    notifications.show({ message: `${fileName} was saved.` })
    onClose()
  })
  return (
    <Stack>
      <Text size="sm">{description}</Text>
      {children}
      {error === null ? null : <ErrorAlert error={error} />}
      <Group justify="space-between">
        {operation === null ? (
          <span />
        ) : (
          <CopyCommandButton command={`${commandOf(operation, input)} --out ${fileName}`} />
        )}
        <Button loading={isBusy} onClick={() => void run()}>
          Download
        </Button>
      </Group>
    </Stack>
  )
}
