import { Button, Group, Stack, Text, TextInput } from "@mantine/core"
import { useForm } from "@mantine/form"
import type { UseFormReturnType } from "@mantine/form"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import { Refused } from "../api/refused.ts"
import { Fault } from "./fault.tsx"
import { useAct } from "./use-act.ts"

/** What a form in a dialog is made of, whatever it does. */
export interface DialogTerms<Values extends Record<string, unknown>, Answer> {
  /** What it will do. */
  readonly says?: ReactNode
  readonly initial: Values
  /** Why a field cannot be as it is, by its name; checked while typing. */
  readonly check?: {
    readonly [Name in keyof Values]?: (value: Values[Name], all: Values) => string | null
  }
  readonly fields: (form: UseFormReturnType<Values>) => ReactNode
  /** On the button that does it. */
  readonly does: string
  readonly done: string | ((answer: Answer) => string)
  readonly onDone?: (answer: Answer) => void
  /** What is typed where it cannot be undone. */
  readonly typed?: string
  readonly isDangerous?: boolean
}

interface DialogFormProps<Values extends Record<string, unknown>, Answer> extends DialogTerms<
  Values,
  Answer
> {
  /** Does it. @throws Refused */
  readonly act: (values: Values) => Promise<Answer>
  /** What does the same from a shell. */
  readonly copyAs: (values: Values) => ReactNode
  readonly onClose: () => void
}

/** A form in a dialog. What was typed stays where the server refuses. */
export function DialogForm<Values extends Record<string, unknown>, Answer>(
  props: DialogFormProps<Values, Answer>,
) {
  const { initial, check = {}, fields, does, done, onDone, onClose, typed, isDangerous } = props
  const [word, setWord] = useState("")
  const form = useForm<Values>({
    initialValues: initial,
    validate: check as NonNullable<Parameters<typeof useForm<Values>>[0]>["validate"] & object,
    validateInputOnChange: true,
  })
  const { act, isBusy, error } = useAct(async (values: Values) => {
    const answer = await props.act(values).catch((thrown: unknown) => {
      if (thrown instanceof Refused) form.setErrors(faultsOf(thrown))
      throw thrown
    })
    notifications.show({ message: typeof done === "string" ? done : done(answer) })
    onClose()
    onDone?.(answer)
  })
  return (
    <form onSubmit={form.onSubmit((values) => void act(values))} noValidate>
      <Stack>
        {props.says === undefined ? null : (
          <Text size="sm" component="div">
            {props.says}
          </Text>
        )}
        {fields(form)}
        {typed === undefined ? null : (
          <TextInput
            label={`This cannot be undone: type ${typed}`}
            value={word}
            autoComplete="off"
            onChange={(event) => setWord(event.currentTarget.value)}
          />
        )}
        {error === null ? null : <Fault error={error} />}
        <Group justify="space-between">
          {props.copyAs(form.values) ?? <span />}
          <Button
            type="submit"
            loading={isBusy}
            disabled={typed !== undefined && word !== typed}
            {...(isDangerous === true ? { color: "red" } : {})}
          >
            {does}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** By the names that fields have here: what is sent may have them in a thing of its own, `record.name`. */
function faultsOf({ fields }: Refused): Readonly<Record<string, string>> {
  const own = Object.entries(fields).map(([name, says]) => [name.split(".").at(-1), says])
  return { ...Object.fromEntries(own), ...fields }
}
