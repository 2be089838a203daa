import { TextInput } from "@mantine/core"
import type { TestMail } from "../../api/work-answers.ts"
import { useMe } from "../../api/session.ts"
import { FormDialog } from "../../parts/form-dialog.tsx"

/** Why a text is no address of a mailbox; null where it may be one. */
export function emailFault(text: string): string | null {
  return /^\S+@\S+\.\S+$/.test(text.trim()) ? null : "An email address, such as ada@example.com"
}

/** A button that opens a form: sends a test mail. */
export function SendTest() {
  const { email } = useMe()
  return (
    <FormDialog<{ readonly to: string }, TestMail>
      operation="email-test"
      label="Send a test mail"
      says="It goes out from your first verified sending domain, and costs nothing."
      variant="filled"
      initial={{ to: email ?? "" }}
      check={{ to: emailFault }}
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
      does="Send"
      done={({ from, to, answer, code }) =>
        `From ${from} to ${to}: ${answer}${code === null ? "" : ` (${code})`}.`
      }
    />
  )
}
