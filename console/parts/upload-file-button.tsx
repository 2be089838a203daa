import { Button, FileInput, Group, Progress, Stack, Text, TextInput } from "@mantine/core"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import { useCommand, useOperation } from "../api/operations.ts"
import { MAX_UPLOAD_BYTES, uploadFile } from "../api/upload-file.ts"
import { useMe } from "../api/session.ts"
import { sizeText } from "./size-text.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import { DialogButton } from "./dialog-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"

interface SendFileProps {
  readonly operation: string
  readonly label: string
  /** What happens to the file, and what it may contain. */
  readonly description: ReactNode
  /** File name extension: `.zip`. */
  readonly accept: string
  /** A text field that is sent with the file. */
  readonly asks?: { readonly name: string; readonly label: string }
  readonly successMessage: string
  readonly variant?: "filled" | "default"
  /** Shows a rejection in more detail than its message. */
  readonly refused?: (error: Error) => ReactNode
}

/** A button with a form that uploads a file. Hidden from people who may not upload. */
export function UploadFileButton(props: SendFileProps) {
  const { operation: name, label, variant } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no") return null
  return (
    <DialogButton label={label} variant={variant} size="lg">
      {(close) => <UploadForm {...props} onClose={close} />}
    </DialogButton>
  )
}

interface SubmitEvent {
  readonly preventDefault: () => void
  readonly target: unknown
  readonly currentTarget: unknown
}

function UploadForm(props: SendFileProps & { readonly onClose: () => void }) {
  const {
    operation: name,
    label,
    description,
    accept,
    asks,
    successMessage,
    onClose,
    refused,
  } = props
  const { companyId } = useMe()
  const [file, setFile] = useState<File | null>(null)
  const [words, setWords] = useState("")
  /** Sent share of the file; null if no upload runs. */
  const [share, setShare] = useState<number | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const fault = file === null ? null : fileFault(file, accept)
  const input = asks === undefined || words.trim() === "" ? {} : { [asks.name]: words.trim() }
  const act = async (chosen: File) => {
    setShare(0)
    setError(null)
    try {
      await uploadFile({ companyId, operation: name, file: chosen, input, onSent: setShare })
      notifications.show({ message: successMessage })
      onClose()
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    } finally {
      setShare(null)
    }
  }
  return (
    <Stack
      component="form"
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault()
        // Ignores submits of forms in dialogs above this one.
        if (event.target !== event.currentTarget) return
        if (file !== null && fault === null) void act(file)
      }}
    >
      <Text size="sm">{description}</Text>
      <FileInput
        label="File"
        description={`${accept}, at most ${sizeText(MAX_UPLOAD_BYTES)}`}
        placeholder="Choose a file"
        accept={accept}
        value={file}
        clearable
        error={fault}
        disabled={share !== null}
        clearButtonProps={{ "aria-label": "Clear the file" }}
        onChange={setFile}
      />
      {asks === undefined ? null : (
        <TextInput
          label={asks.label}
          value={words}
          maxLength={1_000}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
      )}
      {share === null ? null : <UploadProgress share={share} />}
      {error === null ? null : (refused?.(error) ?? <ErrorAlert error={error} />)}
      <Group justify="space-between">
        <Command name={name} input={{ file: file?.name ?? `FILE${accept}`, ...input }} />
        <Button type="submit" loading={share !== null} disabled={file === null || fault !== null}>
          {label}
        </Button>
      </Group>
    </Stack>
  )
}

function Command({ name, input }: { readonly name: string; readonly input: object }) {
  const operation = useOperation(name)
  const commandOf = useCommand()
  return operation === null ? (
    <span />
  ) : (
    <CopyCommandButton command={commandOf(operation, { ...input })} />
  )
}

/** Progress of an upload: sending, then processing on the server. */
function UploadProgress({ share }: { readonly share: number }) {
  const percent = Math.round(100 * share)
  const status = share < 1 ? `Sending: ${percent} %` : "Sent. The server checks the file ..."
  return (
    <Stack gap={4} role="status">
      <Progress value={percent} animated={share >= 1} aria-label={status} />
      <Text size="sm" c="dimmed">
        {status}
      </Text>
    </Stack>
  )
}

/** Why a file cannot be sent; null if it can. */
function fileFault({ name, size }: File, accept: string): string | null {
  if (!name.toLowerCase().endsWith(accept)) return `Must be a file that ends in ${accept}`
  if (size === 0) return "This file is empty"
  if (size <= MAX_UPLOAD_BYTES) return null
  return `This file has ${sizeText(size)}; the limit is ${sizeText(MAX_UPLOAD_BYTES)}`
}
