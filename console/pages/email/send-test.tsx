import { TextInput } from "@mantine/core"
import type { TestMail } from "../../api/outreach-answers.ts"
import { useMe } from "../../api/session.ts"
import { OperationFormButton } from "../../parts/operation-form-button.tsx"

/** Why a text is not an email address; null if it may be one. */
export function emailFault(text: string): string | null {
  return /^\S+@\S+\.\S+$/.test(text.trim())
    ? null
    : "Must be an email address, such as ada@example.com"
}

/** A button with a form that sends a test mail. */
export function SendTestMail() {
  const { email } = useMe()
  return (
    <OperationFormButton<{ readonly to: string }, TestMail>
      operation="email-test"
      label="Send a test mail"
      description="Sends a free mail from your first verified sending domain."
      variant="filled"
      initialValues={{ to: email ?? "" }}
      validators={{ to: emailFault }}
      inputOf={({ to }) => ({ to: to.trim() })}
      fields={(form) => (
        <TextInput
          label="To"
          type="email"
          data-autofocus
          autoComplete="email"
          {...form.getInputProps("to")}
        />
      )}
      submitLabel="Send"
      successMessage={({ from, to, result, code }) =>
        `From ${from} to ${to}: ${result}${code === null ? "" : ` (${code})`}.`
      }
    />
  )
}
