import { TextInput } from "@mantine/core"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { numberFault } from "./phone-state.ts"

const PATH = "/api/v1/phone/opt-outs"

/** A button that stops texts to a number; it asks for the number if none is given. */
export function AddOptOut({ phone }: { readonly phone?: string }) {
  return (
    <ApiCallButton<{ readonly phone: string }>
      label={phone === undefined ? "Add an opt-out" : "Stop texting"}
      description="Texts to this number are refused until you undo it here."
      initialValues={{ phone: phone ?? "" }}
      validators={{ phone: numberFault }}
      changeOf={(values) => ({ method: "POST", path: PATH, body: { phone: values.phone.trim() } })}
      fields={(form) => (
        <TextInput
          label="Number"
          placeholder="+14155550123"
          inputMode="tel"
          data-autofocus
          readOnly={phone !== undefined}
          {...form.getInputProps("phone")}
        />
      )}
      submitLabel="Stop texting"
      successMessage="This number no longer gets texts."
    />
  )
}

/** A button that removes an opt-out that was added here. */
export function RemoveOptOut({ phone }: { readonly phone: string }) {
  return (
    <ApiCallButton
      label="Undo"
      title={`Text ${phoneText(phone)} again`}
      variant="subtle"
      description="The number can be texted again. An opt-out by text stays: only the person can undo it, by texting START."
      changeOf={() => ({ method: "DELETE", path: PATH, body: { phone } })}
      submitLabel="Undo the opt-out"
      successMessage="This number can be texted again."
    />
  )
}
