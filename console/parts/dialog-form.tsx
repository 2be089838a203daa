import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { useForm } from "@mantine/form"
import type { UseFormReturnType } from "@mantine/form"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import { RequestError } from "../api/request-error.ts"
import { ErrorAlert } from "./error-alert.tsx"
import { useAsyncAction } from "./use-async-action.ts"

export interface DialogFormOptions<Values extends Record<string, unknown>, Answer> {
  readonly description?: ReactNode
  readonly initialValues: Values
  /** Validators by field name, which run while typing. */
  readonly validators?: {
    readonly [Name in keyof Values]?: (value: Values[Name], all: Values) => string | null
  }
  readonly fields: (form: UseFormReturnType<Values>) => ReactNode
  readonly submitLabel: string
  readonly successMessage: string | ((answer: Answer) => string)
  readonly onDone?: (answer: Answer) => void
  /** The text to type before an irreversible action. */
  readonly confirmationText?: string
  readonly isDangerous?: boolean
}

interface DialogFormProps<Values extends Record<string, unknown>, Answer> extends DialogFormOptions<
  Values,
  Answer
> {
  /** Submits the values. @throws RequestError */
  readonly act: (values: Values) => Promise<Answer>
  /** The button that copies the equivalent command. */
  readonly copyAs: (values: Values) => ReactNode
  readonly onClose: () => void
}

/** A form in a dialog; it keeps the entered values if the server rejects them. */
export function DialogForm<Values extends Record<string, unknown>, Answer>(
  props: DialogFormProps<Values, Answer>,
) {
  const {
    initialValues,
    validators = {},
    fields,
    submitLabel,
    successMessage,
    onDone,
    onClose,
    confirmationText,
    isDangerous,
  } = props
  const [word, setWord] = useState("")
  const form = useForm<Values>({
    initialValues,
    validate: validators as NonNullable<Parameters<typeof useForm<Values>>[0]>["validate"] & object,
    validateInputOnChange: true,
  })
  const { run, isBusy, error } = useAsyncAction(async (values: Values) => {
    const answer = await props.act(values).catch((thrown: unknown) => {
      if (thrown instanceof RequestError) form.setErrors(faultsOf(thrown))
      throw thrown
    })
    notifications.show({
      message: typeof successMessage === "string" ? successMessage : successMessage(answer),
    })
    onClose()
    onDone?.(answer)
  })
  return (
    <form onSubmit={form.onSubmit((values) => void run(values))} noValidate>
      <Stack>
        {props.description === undefined ? null : (
          <Text size="sm" component="div">
            {props.description}
          </Text>
        )}
        {fields(form)}
        {confirmationText === undefined ? null : (
          <TextInput
            label={`This cannot be undone. Type ${confirmationText} to confirm.`}
            value={word}
            autoComplete="off"
            onChange={(event) => setWord(event.currentTarget.value)}
          />
        )}
        {error === null ? null : <ErrorAlert error={error} />}
        <Group justify="space-between">
          {props.copyAs(form.values) ?? <span />}
          <Button
            type="submit"
            loading={isBusy}
            disabled={confirmationText !== undefined && word !== confirmationText}
            {...(isDangerous === true ? { color: "red" } : {})}
          >
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Messages by field name of the form; the API may nest a field, as in `record.name`. */
function faultsOf({ fields }: RequestError): Readonly<Record<string, string>> {
  const byLastName = Object.entries(fields).map(([name, message]) => [
    name.split(".").at(-1),
    message,
  ])
  return { ...Object.fromEntries(byLastName), ...fields }
}
