import { Button, Group, Stack, Text } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import type { ReactNode } from "react"
import type { Input } from "../api/operations.ts"
import { download, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyAs } from "./copy-as.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { Fault } from "./fault.tsx"
import { useAct } from "./use-act.ts"

interface DownloadProps {
  /** The operation that sends the file. */
  readonly operation: string
  readonly input?: Input
  readonly fileName: string
  /** On the button. */
  readonly label: string
  /** What is in the file. */
  readonly says: ReactNode
  /** More that is asked before. */
  readonly children?: ReactNode
}

/** A button that says what is in a file, and saves it. Not shown to who may not have it. */
export function Download(props: DownloadProps) {
  const { operation: name, label } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no") return null
  return <DialogButton label={label}>{(close) => <Save {...props} onClose={close} />}</DialogButton>
}

function Save(props: DownloadProps & { readonly onClose: () => void }) {
  const { operation: name, input = {}, fileName, says, children, onClose } = props
  const { companyId } = useMe()
  const operation = useOperation(name)
  const commandOf = useCommand()
  const { act, isBusy, error } = useAct(async () => {
    await download(companyId, name, input, fileName)
    notifications.show({ message: `${fileName} was saved.` })
    onClose()
  })
  return (
    <Stack>
      <Text size="sm">{says}</Text>
      {children}
      {error === null ? null : <Fault error={error} />}
      <Group justify="space-between">
        {operation === null ? (
          <span />
        ) : (
          <CopyAs command={`${commandOf(operation, input)} --out ${fileName}`} />
        )}
        <Button loading={isBusy} onClick={() => void act()}>
          Download
        </Button>
      </Group>
    </Stack>
  )
}
