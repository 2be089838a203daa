import { TextInput } from "@mantine/core"
import { CallDialog } from "../../parts/call-dialog.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { numberFault } from "./state.ts"

const PATH = "/api/v1/phone/opt-outs"

/** A button: stops texting a number; which one is asked for where it is not known. */
export function AddOptOut({ phone }: { readonly phone?: string }) {
  return (
    <CallDialog<{ readonly phone: string }>
      label={phone === undefined ? "Add an opt-out" : "Stop texting"}
      says="Every text to it is refused from now on, until that is undone here."
      initial={{ phone: phone ?? "" }}
      check={{ phone: numberFault }}
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
      does="Stop texting"
      done="This number is not texted any more."
    />
  )
}

/** A button: lets a number be texted again that was added here. */
export function RemoveOptOut({ phone }: { readonly phone: string }) {
  return (
    <CallDialog
      label="Undo"
      title={`Text ${phoneText(phone)} again`}
      variant="subtle"
      says="It can be texted again from now on. An opt-out that somebody texted stays: they undo it by texting START."
      changeOf={() => ({ method: "DELETE", path: PATH, body: { phone } })}
      does="Undo the opt-out"
      done="This number can be texted again."
    />
  )
}
